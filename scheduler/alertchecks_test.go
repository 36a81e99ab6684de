package scheduler

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

var alertNow = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// use is a sample of people's calls.
func use(change func(*gemini.UsageSample)) []gemini.UsageSample {
	s := gemini.UsageSample{Model: "flash", Class: "interactive", Feature: "chat", Calls: 1000, Sent: 1000, Good: 1000, Requests: 1000, InputTokens: 1_000_000}
	change(&s)
	return []gemini.UsageSample{s}
}

func lowered(ppm int64) []limiter.LaneState {
	l := limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute, Amount: 1000}, Name: "rpm"}
	if ppm > 0 {
		l.Lowered = &limiter.Lowering{PPM: ppm}
	}
	return []limiter.LaneState{{Lane: limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "flash"}, Limits: []limiter.LimitState{l}}}
}

// fewCalls is a lane whose calls at once feedback holds at 19, and nobody has bound them.
func fewCalls() []limiter.LaneState {
	l := lowered(998_100)
	l[0].Limits[0].Limit, l[0].Limits[0].Name = limiter.Limit{Unit: limiter.Concurrency, Window: limiter.Held, Amount: 10_000}, "concurrency"
	return l
}

func capAt(used int64, node string) []CapOutlook {
	return []CapOutlook{{CapState: limiter.CapState{Node: node, Name: "usd_per_day", Used: used, Soft: 9_200_000,
		Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Day, Amount: 10_000_000}, End: alertNow.Add(time.Hour)}}}
}

func grown(first, middle int64) []QueueMoment {
	return []QueueMoment{{alertNow.Add(-31 * time.Minute), map[string]int64{"bulk": first}}, {alertNow.Add(-15 * time.Minute), map[string]int64{"bulk": middle}}}
}

// TestFindings: what is an alert, and what is near to one and is none.
func TestFindings(t *testing.T) {
	pause := func(reason string, ago time.Duration, until time.Time) []limiter.Pause {
		return []limiter.Pause{{Class: "bulk", Reason: reason, Owner: "ada", Since: alertNow.Add(-ago), Until: until}}
	}
	usual := map[string]float64{"flash|interactive|chat": 1000}
	for name, c := range map[string]struct {
		f    AlertFacts
		r    AlertRules
		want string // "" is no alert
	}{
		"provider refuses":            {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Provider429 = 10 })}, want: "provider_429|interactive of flash|the provider refuses 10 of 1,000 calls of interactive of flash (1.0 % in 5m)|nightshift quota who"},
		"few refusals":                {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Provider429 = 9 })}},
		"a small part":                {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Calls, s.Provider429 = 1001, 10 })}},
		"bulk is refused":             {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Class, s.Provider429 = "bulk", 500 })}},
		"we refuse":                   {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Refused = 200 })}, want: "limiter_429|interactive of flash|we refuse 200 of 1,000 calls of interactive of flash (20.0 % in 5m)|nightshift why interactive"},
		"a tenant's own limit":        {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Refused, s.OwnLimit = 200, 195 })}},
		"money or a refused key":      {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Refused, s.Uncontested = 200, 195 })}},
		"bypass":                      {f: AlertFacts{Bypass: []BypassEstimate{{Lane: "gemini/p/global/flash", RPM: 40, Quota: 60, Used: 20, At: alertNow.Add(-time.Minute)}}}, want: "limits_lower|flash bypass|gemini/p/global/flash: about 40 rpm seem to bypass the gate: the provider refused at 60 rpm while we had used 20|nightshift quota who flash"},
		"bypass long ago":             {f: AlertFacts{Bypass: []BypassEstimate{{Lane: "gemini/p/global/flash", RPM: 40, Quota: 60, Used: 20, At: alertNow.Add(-11 * time.Minute)}}}},
		"off":                         {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Refused = 200 })}, r: AlertRules{Off: map[string]bool{AlertLimiter429: true}}},
		"queue grows":                 {f: AlertFacts{Past: grown(0, 1000), Queues: map[string]int64{"bulk": 2000}}, want: "queue_growth|bulk|more rows of bulk come than end: 0 were open 31m ago, 2,000 are now|nightshift why bulk"},
		"somebody enqueued":           {f: AlertFacts{Past: grown(0, 0), Queues: map[string]int64{"bulk": 500_000}}},
		"enqueued before":             {f: AlertFacts{Past: grown(0, 500_000), Queues: map[string]int64{"bulk": 499_000}}},
		"queue outside its window":    {f: AlertFacts{Past: grown(0, 1000), Queues: map[string]int64{"bulk": 2000}, Throttles: []limiter.Throttle{{Class: "bulk", Reason: ReasonWindow}}}},
		"not known for long":          {f: AlertFacts{Past: grown(0, 1000)[1:], Queues: map[string]int64{"bulk": 90_000}}},
		"long prompts":                {f: AlertFacts{Usual: usual, Lately: use(func(s *gemini.UsageSample) { s.InputTokens = 4_000_000 })}, want: "token_pressure|chat (interactive) to flash|a request of chat (interactive) to flash has 4,000 input tokens, usually 1,000: 4.0 times as many|nightshift quota who flash"},
		"short prompts":               {f: AlertFacts{Usual: usual, Lately: use(func(s *gemini.UsageSample) { s.InputTokens = 200_000 })}, want: "token_pressure|chat (interactive) to flash|a request of chat (interactive) to flash has 200 input tokens, usually 1,000: is something missing from its prompts?|nightshift quota who flash"},
		"somewhat longer":             {f: AlertFacts{Usual: usual, Lately: use(func(s *gemini.UsageSample) { s.InputTokens = 3_990_000 })}},
		"nothing is usual":            {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.InputTokens = 90_000_000 })}},
		"few requests":                {f: AlertFacts{Usual: usual, Lately: use(func(s *gemini.UsageSample) { s.Requests, s.InputTokens = 19, 4_000_000 })}},
		"no weight":                   {f: AlertFacts{Usual: usual, Lately: append(use(func(s *gemini.UsageSample) { s.Requests, s.InputTokens = 20, 100_000 }), use(func(s *gemini.UsageSample) { s.Feature, s.InputTokens = "rest", 9_000_000 })...)}},
		"half of a cap":               {f: AlertFacts{Caps: capAt(5_000_000, "tenant/acme")}, want: "cap|tenant/acme usd_per_day|tenant/acme|nightshift spend show"},
		"less":                        {f: AlertFacts{Caps: capAt(4_990_000, "tenant/acme")}},
		"the soft part":               {f: AlertFacts{Caps: capAt(9_200_000, "tenant/acme")}, want: "cap|tenant/acme usd_per_day|pausable classes wait|nightshift spend set tenant/acme usd_per_day AMOUNT"},
		"a run's cap":                 {f: AlertFacts{Caps: capAt(9_990_000, "run/x")}},
		"levels of one's own":         {f: AlertFacts{Caps: capAt(5_000_000, "tenant/acme")}, r: AlertRules{Caps: []int64{75}}},
		"paused for health":           {f: AlertFacts{Pauses: pause(ReasonHealth, 4*time.Hour, alertNow.Add(time.Minute))}, want: "paused_long|bulk health|class bulk has been paused for 4h, by ada (health)|nightshift health show"},
		"a little less":               {f: AlertFacts{Pauses: pause(ReasonHealth, 4*time.Hour-time.Second, alertNow.Add(time.Minute))}},
		"outside its window":          {f: AlertFacts{Pauses: pause(ReasonWindow, 99*time.Hour, alertNow.Add(time.Minute))}},
		"a person's, until a time":    {f: AlertFacts{Pauses: pause(ReasonOperator, 99*time.Hour, alertNow.Add(time.Minute))}},
		"a person's, since breakfast": {f: AlertFacts{Pauses: pause(ReasonOperator, 11*time.Hour, time.Time{})}},
		"a person's, forgotten":       {f: AlertFacts{Pauses: pause(ReasonOperator, 12*time.Hour, time.Time{})}, want: "paused_long|bulk operator|class bulk has been paused for 12h, by ada (operator)|nightshift resume bulk"},
		"key refused":                 {f: AlertFacts{Breakers: []limiter.BreakerState{{Reason: limiter.ReasonCredentials, Detail: "API key expired"}}}, want: "credentials|the whole project|API key expired|nightshift resume bulk"},
		"no money":                    {f: AlertFacts{Breakers: []limiter.BreakerState{{Reason: limiter.ReasonSpend}}}},
		"limit lowered":               {f: AlertFacts{Lanes: lowered(200_000)}, want: "limits_lower|flash rpm|rpm of flash is held at about 800 of 1,000|nightshift quota set flash rpm=800"},
		"calls at once, set by none":  {f: AlertFacts{Lanes: fewCalls()}, want: "limits_lower|flash concurrency|about 19 calls to flash run at once for now, since the provider is short of capacity|nightshift why flash"},
		"limit lowered a little":      {f: AlertFacts{Lanes: lowered(49_000)}},
		"limit as it should be":       {f: AlertFacts{Lanes: lowered(0)}},
		"the provider's own number":   {f: AlertFacts{Lanes: lowered(200_000), Bypass: []BypassEstimate{{Lane: "gemini/p/global/flash", Quota: 300, Configured: 1000}}}, want: "limits_lower|flash rpm|the provider allows 300 rpm on flash|nightshift quota set flash rpm=300"},
		"bypass alone":                {f: AlertFacts{Bypass: []BypassEstimate{{Lane: "gemini/p/global/flash", RPM: 40, Quota: 1000, Configured: 1000}}}},
		"too little charged":          {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Measured, s.EstimatedInput, s.MeasuredInput = 50, 740, 1000 })}, want: "estimates_off|flash|estimates of flash are off: 26.0 % less input is charged than calls have (50 calls)|nightshift quota review flash"},
		"too much charged":            {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Measured, s.EstimatedInput, s.MeasuredInput = 50, 2000, 1000 })}, want: "estimates_off|flash|100.0 % more input|nightshift quota review flash"},
		"too little output":           {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Measured, s.EstimatedOutput, s.MeasuredOutput = 50, 740, 1000 })}, want: "estimates_off|flash|26.0 % less output|nightshift quota review flash"},
		"too much output":             {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Measured, s.EstimatedOutput, s.MeasuredOutput = 50, 9000, 1000 })}},
		"few are measured":            {f: AlertFacts{Lately: use(func(s *gemini.UsageSample) { s.Measured, s.EstimatedInput, s.MeasuredInput = 49, 1, 1000 })}},
		"nobody works":                {f: AlertFacts{Idle: []IdleLane{{"gemini/p/global/flash", 30_000, []string{"night", "day"}}}}, want: "no_workers|flash|30,000 rows of night, day wait for flash, and no worker serves it|nightshift worker"},
	} {
		c.f.At, c.f.Classes = alertNow, testClasses
		got := c.r.orDefault().findings(c.f)
		if c.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v, want no alert", name, got)
			}
			continue
		}
		w := strings.Split(c.want, "|")
		if len(got) != 1 || got[0].Kind != w[0] || got[0].Subject != w[1] || !strings.Contains(got[0].Text, w[2]) || got[0].Command != w[3] {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestUsualInput is of what is known well only.
func TestUsualInput(t *testing.T) {
	hour := func(feature string, requests int64) gemini.UsageSample {
		return gemini.UsageSample{Model: "m", Class: "bulk", Feature: feature, Requests: requests, InputTokens: requests * 10}
	}
	got := usualInput([]gemini.UsageSample{hour("known", 400), hour("known", 100), hour("few", 100), hour("few", 399), hour("one hour", 9000)})
	if keys := slices.Collect(maps.Keys(got)); !slices.Equal(keys, []string{"m|bulk|known"}) || got["m|bulk|known"] != 10 {
		t.Errorf("%v", got)
	}
}

// TestAlertRulesAreChecked: what is wrong is named as the configuration has it.
func TestAlertRulesAreChecked(t *testing.T) {
	for field, r := range map[string]AlertRules{
		"over": {Over: -1}, "group": {Group: time.Hour}, "refusals": {Refusals: -1}, "refused_ratio": {RefusedRatio: 2}, "queue_rows": {QueueRows: -1},
		"tokens": {Tokens: 0.5}, "estimates": {Estimate: 1}, "caps": {Caps: []int64{50, 101}}, "off": {Off: map[string]bool{"lunch": true}}, "": {},
	} {
		err := r.Check()
		if field == "" && err != nil || field != "" && (err == nil || !strings.HasPrefix(err.Error(), field+": ")) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
