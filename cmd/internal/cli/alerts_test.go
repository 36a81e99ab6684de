package cli

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/scheduler"
)

// TestAlertsOfAFleet: rows without a worker are found by the leader, told by its
// configuration's address, listed with what helps, and among the advice once.
func TestAlertsOfAFleet(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	control, at := s.be.control(), time.Now()
	control.Now = func() time.Time { return at }
	w := s.be.alertWatch(control, "me")
	for range 2 {
		s.check(w.Look(t.Context(), 1))
		at = at.Add(2 * time.Minute)
	}
	list, seen, err := s.be.control().Firing(t.Context())
	s.check(err)
	if len(list) != 1 || list[0].Kind != scheduler.AlertWorkers || list[0].Text != "10 rows of night wait for m, and no worker serves it" || time.Since(seen) > time.Minute {
		t.Fatalf("%+v seen %s", list, seen)
	}
	o, err := s.be.overview(t.Context(), time.Now())
	s.check(err)
	n := 0
	for _, a := range o.Advice {
		if a.Command == "nightshift worker" {
			n++
		}
	}
	if len(o.Alerts) != 1 || n != 1 {
		t.Errorf("alerts %+v, advice %+v", o.Alerts, o.Advice)
	}
}

// TestAlertsWithoutAScheduler: when nobody leads any more, what was seen seconds ago does
// not say that nothing needs a look.
func TestAlertsWithoutAScheduler(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	now := time.Now()
	s.check(s.be.alertWatch(s.be.control(), "me").Look(t.Context(), 1))
	v, err := s.be.alerts(t.Context(), now)
	s.check(err)
	v.Firing = nil
	var out bytes.Buffer
	f := &factory{streams: &streams{Out: &out, Err: &out}}
	f.sayAlerts(v, now)
	if v.Watched || !strings.Contains(out.String(), "warning: no scheduler has looked since ") || strings.Contains(out.String(), "nothing needs a look") {
		t.Errorf("%+v: %s", v, out.String())
	}
	out.Reset()
	v.Watched = true
	if f.sayAlerts(v, now); !strings.Contains(out.String(), "nothing needs a look (as of ") {
		t.Error(out.String())
	}
}

// TestAlertsTest sends a sample to those who are told of alerts, and to no other.
func TestAlertsTest(t *testing.T) {
	var got []string
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, string(b))
	}))
	defer to.Close()
	c, err := hooksConfig(t, "alerts: {webhook_env: NS_ALERTS, caps: [75], off: [queue_growth]}\nhooks: [{name: runs, url: \""+to.URL+"\"}]")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NS_ALERTS", to.URL)
	var out bytes.Buffer
	f := &factory{streams: &streams{Out: &out, Err: &out}, now: time.Now, conf: c}
	if err := testAlerts(t.Context(), f, ""); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], `{"text":"nightshift default: needs a look: this is a trial`) || out.String() != "alerts: told $NS_ALERTS\n" {
		t.Errorf("sent %q, said %q", got, out.String())
	}
	if err := testAlerts(t.Context(), f, "runs"); err == nil || !strings.Contains(err.Error(), "there are: alerts") {
		t.Errorf("%v", err)
	}
	if r := c.Alerts.rules(); !r.Off[scheduler.AlertQueue] || !slices.Equal(r.Caps, []int64{75}) {
		t.Errorf("%+v", r)
	}
}

// TestLeaderWatch: that nobody leads is said once, after standbys had their time, and
// its end once.
func TestLeaderWatch(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := leaderWatch{log: slog.New(slog.NewTextHandler(&out, nil))}
	now := time.Now()
	led := []scheduler.Member{{ID: "a", Fence: 1}}
	for i, c := range []struct {
		members []scheduler.Member
		want    string
	}{
		{led, ""}, {nil, ""}, {led, ""}, {nil, ""}, {[]scheduler.Member{{ID: "b"}}, ""},
		{nil, "no scheduler leads"}, {nil, ""}, {led, "leads again"}, {led, ""},
	} {
		out.Reset()
		now = now.Add(leaderEvery)
		if w.look(c.members, now); c.want == "" && out.Len() > 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("look %d: %q, want %q", i, out.String(), c.want)
		}
	}
}
