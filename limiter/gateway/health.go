package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// health says that the process is up: what a supervisor restarts it by.
func (v *visit) health() *apiError {
	v.status = http.StatusOK
	writeJSON(v.w, http.StatusOK, map[string]any{"status": "up"})
	return nil
}

// ready says whether calls can be admitted: what a load balancer looks at.
func (v *visit) ready() *apiError {
	v.status = http.StatusOK
	answer := map[string]any{"ready": true, "lanes": len(v.g.cfg.Lanes.Lanes()), "observe": v.g.cfg.Observe}
	if err := v.g.ready(v.r.Context()); err != nil {
		v.status = http.StatusServiceUnavailable
		answer["ready"], answer["why"] = false, clean(err.Error())
	}
	writeJSON(v.w, v.status, answer)
	return nil
}

func (g *Gateway) ready(ctx context.Context) error {
	if g.cfg.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return g.cfg.Ready(ctx)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own maps
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may have gone
}
