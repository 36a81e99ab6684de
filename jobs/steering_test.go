package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestSteerChangesARunThatGoesOn holds that nothing else of the record changes,
// that workers are told of another tier, and that enqueueing again keeps it.
func TestSteerChangesARunThatGoesOn(t *testing.T) {
	ctx := context.Background()
	s := NewStore(redisClient(t), StoreOptions{})
	p := prepared(t, "id,text\na,x\nb,y\n", "{{.text}}")
	made, err := s.Enqueue(ctx, p, EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	was := made.Run
	r, err := s.Steer(ctx, was.ID, func(x *Steering) error {
		x.MaxCost, x.ServiceTier = 5_000_000, "flex"
		return nil
	})
	if err != nil || r.Rows != 2 || r.Digest != was.Digest || r.Spec.Steer.MaxCost != 5_000_000 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if begun, err := s.Begin(ctx, Task{Run: was.ID}); err != nil || begun.Digest == was.Stamp() || begun.Digest != r.Stamp() {
		t.Errorf("a worker goes by %q, want %q (%v)", begun.Digest, r.Stamp(), err)
	}
	if again, err := s.Enqueue(ctx, p, EnqueueOptions{}); err != nil || again.Run.Spec.Steer != r.Spec.Steer {
		t.Errorf("enqueued again: %+v (%v)", again.Run.Spec.Steer, err)
	}
}

// TestSteerLosesNoChange interleaves two changes: the second begins anew.
func TestSteerLosesNoChange(t *testing.T) {
	ctx := context.Background()
	s := NewStore(redisClient(t), StoreOptions{})
	made, err := s.Enqueue(ctx, prepared(t, "id,text\na,x\n", "{{.text}}"), EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	r, err := s.Steer(ctx, made.Run.ID, func(x *Steering) error {
		if looks++; looks == 1 {
			_, err := s.Steer(ctx, made.Run.ID, func(y *Steering) error { y.Weight = 3; return nil })
			if err != nil {
				return err
			}
		}
		x.ServiceTier = "flex"
		return nil
	})
	if want := (Steering{Weight: 3, ServiceTier: "flex"}); err != nil || looks != 2 || r.Spec.Steer != want {
		t.Errorf("after %d looks %+v, want %+v (%v)", looks, r.Spec.Steer, want, err)
	}
	refused := errors.New("no")
	if _, err := s.Steer(ctx, made.Run.ID, func(x *Steering) error { x.Weight = 9; return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	if r, err := s.Load(ctx, made.Run.ID); err != nil || r.Spec.Steer.Weight != 3 {
		t.Errorf("%+v (%v)", r.Spec.Steer, err)
	}
	if _, err := s.Steer(ctx, "nosuchrun", func(*Steering) error { return nil }); err == nil || !strings.Contains(err.Error(), "no such run") {
		t.Errorf("a run that is not there: %v", err)
	}
}
