package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
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
	local, err := v.g.Ready(v.r.Context())
	if err != nil {
		v.status = http.StatusServiceUnavailable
		answer["ready"], answer["why"] = false, clean(err.Error())
	}
	if local != "" {
		answer["local"] = clean(local)
	}
	writeJSON(v.w, v.status, answer)
	return nil
}

// Ready says why calls should not come here now, as /readyz does: the gateway leaves,
// or cannot admit any. Where the shared state is away and some pass without it, local
// says which, and why: a balancer that took such a gateway out would refuse those too.
// Who asks again and again is taken for a load balancer.
func (g *Gateway) Ready(ctx context.Context) (local string, err error) {
	if g.leaving.Load() {
		return "", errLeaving
	}
	if g.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(ctx, readyTime)
		defer cancel()
		local, err = g.without(g.cfg.Ready(ctx))
	}
	if err == nil {
		g.watcher.saw(g.cfg.Now())
	}
	return local, err
}

// readyTime bounds the question whether calls can be admitted: an answer that takes longer
// than a second is none to many balancers.
const readyTime = 800 * time.Millisecond

// without says what passes although the shared state is away.
func (g *Gateway) without(err error) (string, error) {
	if g.cfg.Local == nil || !errors.Is(err, ErrAway) {
		return "", err
	}
	passes := g.cfg.Local()
	if passes == "" {
		return "", err
	}
	return err.Error() + "; " + passes, nil
}

var errLeaving = errors.New("draining: this process ends when its calls have")

// Leave makes /readyz say 503 from now on. It tells whether a load balancer looks at
// it, which should have the time to see that.
func (g *Gateway) Leave() (seen bool) {
	g.leaving.Store(true)
	return g.watcher.there(g.cfg.Now())
}

// watcherGone is how long after its last look a load balancer counts as one no more:
// three of the longest intervals in use.
const watcherGone = 30 * time.Second

// watcher tells one who keeps asking from one who waited for the start, and asks no
// more once it was told that all is well.
type watcher struct {
	mu   sync.Mutex
	last [2]time.Time // of the good answers; guarded by mu
}

func (w *watcher) saw(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[0], w.last[1] = w.last[1], now
}

func (w *watcher) there(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.last[0].IsZero() && now.Sub(w.last[1]) < watcherGone
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
