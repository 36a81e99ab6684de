package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	liveEvery   = 3 * time.Second // between two looks
	liveBeat    = 5               // looks without news after which a word goes out all the same, so that proxies keep the line
	mostLookers = 500             // lines at a time
)

// live tells open pages that something has changed. One looks for all, and only
// while somebody has a page open.
type live struct {
	look  func(context.Context) (mark uint64, err error)
	every time.Duration

	mu      sync.Mutex
	viewers map[chan string]bool // guarded by mu
	stop    context.CancelFunc   // ends the one who looks; nil while nobody does; guarded by mu
	closed  bool                 // guarded by mu
	poke    chan struct{}        // look now
}

func newLive(look func(context.Context) (uint64, error)) *live {
	return &live{look: look, every: liveEvery, viewers: map[chan string]bool{}, poke: make(chan struct{}, 1)}
}

// join adds a viewer; with the first the looking begins. ok is false when there
// are too many, or the dashboard ends.
func (l *live) join() (news chan string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.viewers) >= mostLookers {
		return nil, false
	}
	news = make(chan string, 1)
	l.viewers[news] = true
	if l.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		l.stop = cancel
		go l.run(ctx)
	}
	return news, true
}

// leave takes a viewer away; with the last the looking ends.
func (l *live) leave(news chan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.viewers, news); len(l.viewers) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// close ends all lines: they would hold up the end of the process.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for news := range l.viewers {
		close(news)
	}
	clear(l.viewers)
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// nudge makes the one who looks do it now, for what was just changed here.
func (l *live) nudge() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// run looks until ctx ends.
func (l *live) run(ctx context.Context) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	var last uint64
	for quiet := 0; ; {
		mark, err := l.look(ctx)
		quiet++
		switch {
		case err != nil && quiet >= liveBeat, err == nil && mark == last && quiet >= liveBeat:
			l.tell(ctx, ": still here\n\n")
			quiet = 0
		case err == nil && mark != last:
			l.tell(ctx, fmt.Sprintf("event: changed\ndata: %x\n\n", mark))
			last, quiet = mark, 0
		}
		select {
		case <-ctx.Done():
			return
		case <-l.poke:
		case <-tick.C:
		}
	}
}

// tell hands the news to every viewer; who has not taken the last yet needs no more.
func (l *live) tell(ctx context.Context, news string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for v := range l.viewers {
		select {
		case v <- news:
		default:
		}
	}
}

// serveLive is a line of server-sent events: "changed" whenever the pages have.
func (d *Dashboard) serveLive(w http.ResponseWriter, r *http.Request) {
	news, ok := d.live.join()
	if !ok {
		w.Header().Set("Retry-After", "30")
		refuse(w, r, http.StatusServiceUnavailable, "too many pages are open; this one does not refresh by itself")
		return
	}
	defer d.live.leave(news)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass it on at once
	out := http.NewResponseController(w)
	_, _ = w.Write([]byte("retry: 3000\n\n"))
	_ = out.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case s, open := <-news:
			if _, _, still := d.identify(r); !open || !still {
				return // the login has ended
			}
			if _, err := w.Write([]byte(s)); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}

var markSeed = maphash.MakeSeed()

// lookForAll reads the first page as those who look at it would, and gives a mark
// of what is on it.
func (d *Dashboard) lookForAll(ctx context.Context) (uint64, error) {
	now := d.nowPage()
	if now.load == nil {
		return 0, nil
	}
	r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: now.path}}).WithContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Patience)
	defer cancel()
	data, err := d.loadPage(ctx, r, now)
	if err != nil {
		return 0, err
	}
	if o, is := data.(Overview); is {
		o.At = time.Time{} // that alone is no news
		data = o
	}
	b, err := json.Marshal(data)
	return maphash.Bytes(markSeed, b), err
}
