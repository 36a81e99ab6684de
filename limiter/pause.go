package limiter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pause closes a class, a run or a queue in the acquire script until it is
// lifted or ends: exactly one of Class, Run and Lane names what. Several may hold
// at once; a target is closed while one does.
type Pause struct {
	Class string `json:"class,omitempty"`
	Run   string `json:"run,omitempty"`  // Path.Run: its tickets and requests, in every lane and class
	Lane  string `json:"lane,omitempty"` // Lane.String(): with Priority a queue, else all that goes there

	Priority Priority `json:"priority,omitempty"` // Path.Priority, with Lane only

	Reason string    `json:"reason"` // health, window, budget, daily, credentials, counters, operator, stop
	Owner  string    `json:"owner"`
	Since  time.Time `json:"since"`           // zero: now
	Until  time.Time `json:"until,omitempty"` // zero: until lifted
	Detail string    `json:"detail,omitempty"`
}

// Target is what is closed, in words: "class bulk", "run k3f9x2", "high of
// gemini/main/global/flash", "lane gemini/main/global/flash".
func (p Pause) Target() string {
	switch {
	case p.Class != "":
		return "class " + p.Class
	case p.Run != "":
		return "run " + p.Run
	case p.Priority != "":
		return string(p.Priority) + " of " + p.Lane
	}
	return "lane " + p.Lane
}

// field is the target's field in the scope hash (lua/pause.lua).
func (p Pause) field() string {
	switch {
	case p.Class != "":
		return "p:" + p.Class
	case p.Run != "":
		return "pr:" + p.Run
	}
	lane := p.Lane
	if l, err := ParseLane(lane); err == nil {
		lane = l.short()
	}
	return "pq:" + lane + "\n" + string(p.Priority)
}

// check finds what keeps a target of the scope from being closed.
func (p Pause) check(s Scope) error {
	named := 0
	for _, name := range []string{p.Class, p.Run, p.Lane} {
		if name != "" {
			named++
		}
	}
	if named != 1 {
		return wrong("pause", "%d of class, run and lane are given; want one", named)
	}
	if p.Priority != "" && p.Lane == "" {
		return wrong("pause.priority", "%q without a lane", p.Priority)
	}
	for field, name := range map[string]string{"pause.class": p.Class, "pause.run": p.Run, "pause.priority": string(p.Priority)} {
		if strings.ContainsAny(name, "/|\n") {
			return wrong(field, "%q has one of the characters /| or a line break", name)
		}
	}
	if p.Lane != "" {
		l, err := ParseLane(p.Lane)
		if err != nil {
			return wrong("pause.lane", "%v", err)
		}
		if l.Scope() != s {
			return wrong("pause.lane", "%s is not of scope %s", p.Lane, s)
		}
	}
	return checkName("pause.reason", p.Reason)
}

func (p Pause) ends() int64 { return endOf(p.Until) }

// endOf is a moment in ms; -1 for none.
func endOf(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

// says is what a refusal shows: reason, owner, detail.
func (p Pause) says() string { return says(p.Reason, p.Owner, p.Detail) }

func says(reason, owner, detail string) string {
	s := reason
	if owner != "" {
		s += " by " + owner
	}
	if detail != "" {
		s += ": " + detail
	}
	return oneLine(s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// holding leaves out what has ended, and sorts.
func holding(ps []Pause, now time.Time) []Pause {
	ps = slices.DeleteFunc(ps, func(p Pause) bool { return ended(p.ends(), now.UnixMilli()) })
	slices.SortFunc(ps, func(a, b Pause) int {
		return cmp.Or(cmp.Compare(a.field(), b.field()), cmp.Compare(a.Reason, b.Reason))
	})
	return ps
}

func ended(ends, now int64) bool { return ends >= 0 && ends <= now }

// concerns tells whether a pause may close something in the lane.
func (p Pause) concerns(l Lane) bool { return p.Lane == "" || p.field() == l.queue(p.Priority) }

// queue is the field of a pause of the lane's queue; of all that goes there without a priority.
func (l Lane) queue(p Priority) string { return "pq:" + l.short() + "\n" + string(p) }

// short is the lane's name within its scope.
func (l Lane) short() string { return fmt.Sprintf("%s/%s", cmp.Or(l.Region, "global"), l.Model) }
