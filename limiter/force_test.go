package limiter

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

func (b *bench) forced(class string, a Amounts, over string) *Permit {
	b.Helper()
	q := b.request(class, a)
	q.Force = true
	p := b.granted(q)
	if p.Over != over {
		b.Fatalf("would have been refused by %q; want %q", p.Over, over)
	}
	return p
}

func TestForce(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 10, Concurrency: 100})
		b.forced("interactive", Amounts{9}, "")
		p := b.forced("interactive", Amounts{4}, "rpm")
		if n := b.used("rpm"); n != 13 {
			b.Fatalf("%d charged; want 13", n)
		}
		// A debt that the next ones pay.
		if d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota); d.Shortage != 4 {
			b.Fatalf("%+v", d)
		}
		b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Released}))
		b.granted(b.request("interactive", Amounts{1}))

		b.must(b.Cool(b.Context(), b.lane, time.Second, ReasonCooldown, "429"))
		b.forced("interactive", Amounts{1}, "cooldown")
		b.must(b.Pause(b.Context(), Pause{Class: "interactive", Reason: "operator"}))
		b.forced("interactive", Amounts{1}, "paused")
		big := b.request("interactive", Amounts{11})
		big.Force = true
		b.refused(big, ReasonTooLarge)
		big.Lane.Model = "never-heard-of"
		b.refused(big, ReasonUnknownLane)
	})
}

// Forced calls of a smoothed class move its pace by no more than a window.
func TestForcedPaceIsBounded(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		b.forced("bulk", Amounts{1}, "")
		b.forced("bulk", Amounts{1}, "")
		for range 300 {
			q := b.request("bulk", Amounts{1})
			q.Force = true
			if p := b.granted(q); p.Over == "" {
				b.Fatal("a burst is told from an even pace")
			}
		}
		if ahead := b.state().Limits[0].Classes[1].AheadMS; ahead < 60_000 || ahead > 61_500 {
			b.Fatalf("%d ms ahead; want about a window", ahead)
		}
		b.wait(61500 * time.Millisecond)
		b.granted(b.request("bulk", Amounts{1}))
	})
}

// A job that waits and is made in any case leaves its line; asking again gives the
// same permit.
func TestForceOfAJobThatWaits(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		first, q := b.job("r", Normal, 1), b.job("r", Normal, 1)
		first.Full, q.Full = true, true
		b.refused(first, ReasonSlots)
		b.refused(q, ReasonSlots)
		b.wakes(first.Ticket, q.Ticket)
		b.wait(11 * time.Second)
		b.wakes(first.Ticket, q.Ticket) // nobody came: released again
		b.must(b.Pause(b.Context(), Pause{Run: "r", Reason: "operator"}))
		q.Full, q.Force = false, true
		p := b.granted(q)
		if p.Over != "paused" {
			b.Fatalf("over %q", p.Over)
		}
		if _, err := b.Ticket(b.Context(), b.lane, q.Ticket); !errors.Is(err, ErrNoTicket) {
			b.Fatalf("the ticket is still there: %v", err)
		}
		again := b.granted(q)
		if p.Over = ""; !reflect.DeepEqual(again, p) {
			b.Fatalf("got %+v; want %+v", again, p)
		}
	})
}
