package cli

import (
	"context"
	"log/slog"
	"time"

	"nightshift/scheduler"
)

// leaderWatch tells in this process's log that no scheduler leads: whoever leads could
// not tell that of himself.
type leaderWatch struct {
	log   *slog.Logger
	alone time.Time // since when none does; zero: one does
	said  bool
}

const (
	leaderEvery = 15 * time.Second
	leaderGrace = 30 * time.Second // a standby takes over within ten seconds
)

// watchLeader looks until the context ends.
func (b *backend) watchLeader(ctx context.Context) {
	w, control := leaderWatch{log: b.log}, b.control()
	t := time.NewTicker(leaderEvery)
	defer t.Stop()
	for {
		if members, err := control.Members(ctx); err == nil {
			w.look(members, time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// look says once that nobody leads, and once that somebody does again.
func (w *leaderWatch) look(members []scheduler.Member, now time.Time) {
	switch {
	case isLed(members):
		if w.said {
			w.log.Info("a scheduler leads again", "leader", members[0].Name())
		}
		w.alone, w.said = time.Time{}, false
	case w.alone.IsZero():
		w.alone = now
	case now.Sub(w.alone) >= leaderGrace && !w.said:
		w.said = true
		w.log.Warn("no scheduler leads: bulk is not held back for people who wait, windows and deadlines are not kept, and nobody is told of alerts",
			"since", w.alone, "remedy", "nightshift scheduler")
	}
}

// isLed says that one of the schedulers leads: it is the first of them.
func isLed(members []scheduler.Member) bool { return len(members) > 0 && members[0].Fence > 0 }
