package limiter

import (
	"testing"
	"time"
)

// The worked example of doc.go, on Model and on Redis.
func TestWorkedExample(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 100}, OutsidePPM: 50_000, Lend: "now"})
		for range 10 {
			b.granted(b.request("interactive", Amounts{1}))
		}
		b.wait(500 * time.Millisecond)
		rpm := b.state().Limits[0]
		if rpm.Effective != 95 || rpm.Used != 10 || rpm.Classes[0].Protected != 21 || rpm.Classes[1].Room != 74 {
			b.Fatalf("%+v", rpm)
		}
		b.granted(b.request("bulk", Amounts{1}))
		b.wantAhead(249)
		b.granted(b.request("bulk", Amounts{1}))
		b.wantAhead(998)
		d := b.refused(b.request("bulk", Amounts{1}), ReasonSmoothing)
		if want := noon.Add(999 * time.Millisecond); !d.RetryAt.Equal(want) {
			b.Fatalf("retry at %s; want %s", d.RetryAt, want)
		}
		if next := b.state().Limits[0].NextFree; !next.Equal(noon.Add(61 * time.Second)) {
			b.Fatalf("next free at %s", next)
		}
		b.set(noon.Add(61*time.Second - time.Millisecond))
		if n := b.used("rpm"); n != 12 {
			b.Fatalf("%d used; want 12", n)
		}
		b.wait(time.Millisecond)
		if n := b.used("rpm"); n != 2 {
			b.Fatalf("%d used; want 2", n)
		}
	})
}

func (b *bench) wantAhead(ms int64) {
	b.Helper()
	if got := b.state().Limits[0].Classes[1].AheadMS; got != ms {
		b.Fatalf("bulk is %d ms ahead of its pace; want %d", got, ms)
	}
}
