package cli

import (
	"strings"
	"testing"
)

// TestGatewayReadySaysWhatIsAway: what a load balancer's log has is which Redis does not
// answer, and what says more.
func TestGatewayReadySaysWhatIsAway(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.check(s.be.ready(t.Context()))
	at := s.redis.Addr()
	s.be.conf.Redis = "redis://:a-secret@" + at
	s.redis.Close()
	err := s.be.ready(t.Context())
	if want := "the Redis at " + at + " does not answer; see: nightshift doctor"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
