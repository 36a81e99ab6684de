package dashboard

import (
	"context"
	"net/http"
	"slices"
)

// pausesAnswer is what the banner asks for.
type pausesAnswer struct {
	Pauses []PauseView `json:"pauses"`
	Notes  []string    `json:"notes"`           // what is odd on asynqmon's pages, and how to mend it
	Error  string      `json:"error,omitempty"` // the pauses could not be read
}

func (d *Dashboard) servePauses(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), d.cfg.Patience)
	defer cancel()
	out := pausesAnswer{Pauses: []PauseView{}, Notes: []string{}}
	if d.cfg.Pauses != nil {
		pauses, err := d.cfg.Pauses(ctx)
		if err != nil {
			d.cfg.Logger.Warn("dashboard: pauses", "err", err)
			out.Error = "which pauses hold cannot be read now"
		}
		out.Pauses = append(out.Pauses, pauses...)
	}
	out.Notes = append(out.Notes, d.notes(ctx)...)
	answerJSON(w, http.StatusOK, out)
}

// notes tell of figures that are missing on asynqmon's pages.
func (d *Dashboard) notes(ctx context.Context) []string {
	var out []string
	if len(d.troubles.of(troubleForbidden)) > 0 {
		out = append(out, "This Redis does not allow MEMORY USAGE in scripts, so memory figures here are zero. Everything else is right.")
	}
	ghosts := d.troubles.of(troubleGhost)
	slices.Sort(ghosts)
	for _, queue := range ghosts {
		out = append(out, ghostNote(queue, d.ghostCommands(ctx, queue)))
	}
	return out
}
