package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// askedAt22 is a question about the lane of an evening, with a tenant on the way.
func askedAt22(class string, d *limiter.Denied) *explained {
	s := evening()
	node := limiter.NodeState{Node: "tenant/acme", From: "tenant/*", Limits: []limiter.LimitState{{
		Limit: limiter.Limit{Unit: limiter.Requests, Amount: 200}, Name: "rpm", Effective: 200, Used: 200,
		Classes: []limiter.ClassUse{{Class: "interactive", Used: 20}, {Class: "agent"}, {Class: "bulk", Used: 180}},
	}}}
	e := &explained{Class: class, Path: limiter.Path{Tenant: "acme"}, Amounts: limiter.Amounts{1, 20, 5}, through: at(23, 10)}
	e.Explanation = limiter.Explanation{Granted: d == nil, Denied: d, Lane: s, Nodes: []limiter.NodeState{node}}
	e.Users = []*userOfQuota{{Feature: "tags", Class: "bulk", RequestsShare: 0.9, TokensShare: 0.8}, {Feature: "chat", Class: "interactive", RequestsShare: 0.1, TokensShare: 0.2}}
	return e
}

// TestExplainSentences: each rule that may refuse is a sentence that says what is
// missing where, who has it, and until when.
func TestExplainSentences(t *testing.T) {
	t.Parallel()
	w := explainWords{conf: &loaded{}, now: at(22, 0)}
	paused := askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonPaused, RetryAfterMS: 1_800_000})
	paused.Lane.Pauses = []limiter.Pause{
		{Class: "evaluation", Reason: "operator", Owner: "bob", Since: at(21, 0)},
		{Class: "bulk", Reason: "operator", Owner: "ada", Since: at(21, 0), Until: at(22, 30), Detail: "lunch"},
	}
	forGood := askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonPaused, RetryAfterMS: 300_000})
	forGood.Lane.Pauses = []limiter.Pause{{Class: "bulk", Reason: "operator", Owner: "ada", Since: at(21, 0)}}
	rests := askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonCooldown, RetryAfterMS: 42_000})
	rests.Lane.Cooldown = &limiter.Cooldown{Until: at(22, 0).Add(42 * time.Second), Reason: limiter.ReasonCooldown, Detail: "provider: rpm"}
	roomy := askedAt22("interactive", nil)
	roomy.Nodes = nil
	for _, c := range []struct {
		name string
		e    *explained
		want string
	}{
		{"granted", roomy, "Yes: an interactive call to gemini-3.5-flash would be admitted now. The tightest limit, input_tpm, has room for 42 more like it."},
		{
			"a node is full",
			askedAt22("interactive", &limiter.Denied{
				Reason: limiter.ReasonQuota, Limiter: "rpm", Node: "tenant/acme", Limit: 200, Used: 200, Shortage: 1, RetryAfterMS: 12_000,
				Holders: []limiter.Holder{{Class: "bulk", Used: 180}, {Class: "interactive", Used: 20}}, Lent: 40,
			}),
			"Not now: rpm of tenant/acme lacks 1 request: 200 of 200 are used in this minute. The earliest is 22:00:12 " + here() + " (in 12s).\n" +
				"Who has it: bulk 180, interactive 20.\n" +
				"On loan to lower classes: 40 requests; they are back within a minute, by 22:01:01 " + here() + " at the latest.\n" +
				"Most of the last minute: tags (bulk) with 90 % of the requests and 80 % of the tokens, chat (interactive) with 10 % of the requests and 20 % of the tokens.",
		},
		{
			"kept for others",
			askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonShare, Limiter: "rpm", Node: "lane", Limit: 1000, Used: 810, Shortage: 30, RetryAfterMS: 900}),
			"Not now: rpm has room, but not enough of it for bulk: it lacks 30 requests; 90 are kept for interactive. The earliest is within a second.",
		},
		{
			"a throttle",
			askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonShare, Limiter: "rpm", Node: "lane", Shortage: 30, Detail: "throttle window", RetryAfterMS: 7_200_000}),
			"Not now: rpm has room, but not enough of it for bulk: it lacks 30 requests; 90 are kept for interactive (throttle window). The earliest is " + clock(at(24, 0), at(22, 0)) + " (in 2h00m).",
		},
		{
			"larger than the limit",
			askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonTooLarge, Limiter: "input_tpm", Node: "lane", Limit: 1000, Shortage: 500, Permanent: true}),
			"No, never: it needs 1,500 input tokens, and bulk may take 1,000 input tokens at once by its input_tpm. Make it smaller, or use a model whose limit is larger.",
		},
		{
			"its turn",
			askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonTurn, RetryAfterMS: 1000}),
			"Not now: there is room, but 4,310 calls wait and have their turn first. A job of the kind would get its place in the line of its run; all that waits now is through by about 23:10:00 " + here() + ".",
		},
		{
			"its pace",
			askedAt22("bulk", &limiter.Denied{Reason: limiter.ReasonSmoothing, RetryAfterMS: 400}),
			"Not now: there is room, but bulk keeps an even pace, so that whoever comes new does not meet a full window. The earliest is within a second.",
		},
		{"paused", paused, "Not now: class bulk is paused by ada since 21:00:00 " + here() + " until 22:30:00 " + here() + " (lunch). The earliest is 22:30:00 " + here() + " (in 30m00s)."},
		{"paused for good", forGood, "Not now: class bulk is paused by ada since 21:00:00 " + here() + " until it is lifted (operator). When it may go nobody knows."},
		{"resting", rests, "Not now: the provider refused (rpm); rests until 22:00:42 " + here() + ". The earliest is 22:00:42 " + here() + " (in 42s)."},
	} {
		if got := w.sentence(c.e); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestWayTable: every limit on the way is there with what it has for the request.
func TestWayTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	wayTable(askedAt22("bulk", nil)).render(&b)
	want := `NODE                    LIMIT      USED  ENFORCED    SET  ROOM FOR bulk  NEEDS
gemini-3.5-flash        rpm         810       950  1,000             40      1  fits
gemini-3.5-flash        input_tpm    90       950  1,000            760     20  fits
tenant/acme (tenant/*)  rpm         200       200    200              0      1  lacks 1
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestShadowBindsNothing: a limit in shadow is said to be one, and is never what
// decides.
func TestShadowBindsNothing(t *testing.T) {
	t.Parallel()
	e := askedAt22("interactive", nil)
	e.Nodes[0].Limits[0].Shadow = true
	if got, want := (explainWords{conf: &loaded{}, now: at(22, 0)}).tightest(e), " The tightest limit, input_tpm, has room for 42 more like it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := tightestStep(e).name(); got != "rpm" {
		t.Errorf("%s binds", got)
	}
	steps := waySteps(e)
	if got := steps[len(steps)-1].verdict(); got != "in shadow: would lack 1" {
		t.Errorf("the table says %q", got)
	}
	for i := range e.Lane.Limits {
		e.Lane.Limits[i].Shadow = true
	}
	if got, want := laneWait(e.Lane, tightestStep(e), at(22, 0)), "4,310 jobs wait for their turn; no limit holds them up."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if c := newCourse(e.Lane, "bulk", costs{1, 1}, 0, at(22, 0)); c.limit != "" {
		t.Errorf("%s binds the course", c.limit)
	}
}

// TestExplainPath: levels of a path may be given together or one by one.
func TestExplainPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    explainOptions
		want limiter.Path
	}{
		{explainOptions{}, limiter.Path{}},
		{explainOptions{Tenant: "acme", Team: "search", Priority: "high"}, limiter.Path{Tenant: "acme", Team: "search", Priority: "high"}},
		{explainOptions{Tenant: "org/acme/search", Key: "k_1"}, limiter.Path{Organization: "org", Tenant: "acme", Team: "search", Key: "k_1"}},
	} {
		if got, err := c.o.levels(); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c.o, got, err)
		}
	}
	if _, err := (&explainOptions{Tenant: "a/b/c/d"}).levels(); err == nil || !strings.Contains(err.Error(), "TENANT/TEAM") {
		t.Errorf("too many levels: %v", err)
	}
}
