package geminitest

import (
	"errors"
	"fmt"
)

// planned is a fault and how often it came.
type planned struct {
	Fault
	hits int64
}

// spent says that the fault will not come again. A key is revoked once, so
// that it can be restored.
func (p *planned) spent() bool {
	return p.Times > 0 && p.hits >= p.Times || p.Kind == FaultRevokeKey && p.Times == 0 && p.hits > 0
}

// pickLocked gives the first fault that wants the call. It counts as having
// come only when the call is not refused for another reason.
func (s *Server) pickLocked(h hit) *planned {
	for i, p := range s.faults {
		if p.spent() || !p.matches(h) {
			continue
		}
		if p.Share > 0 && s.random(h.seq, saltFault+uint64(i)).Float64() >= p.Share {
			continue
		}
		return p
	}
	return nil
}

// AddFaults adds faults at run time; times are still since the server's start.
func (s *Server) AddFaults(faults ...Fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &planned{Fault: f})
	}
	return nil
}

// ClearFaults forgets every fault.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Verify reports the scripted faults that did not come, or not as often as
// Times says: a test whose fault never came has tested nothing. Faults with a
// probability are left out.
func (s *Server) Verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.faults {
		if want := max(p.Times, 1); p.Share == 0 && p.hits < want {
			errs = append(errs, fmt.Errorf("fault %s came %d of %d times", p.Fault, p.hits, want))
		}
	}
	return errors.Join(errs...)
}
