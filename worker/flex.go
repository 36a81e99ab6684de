package worker

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/flex.lua
var flexLua string

var flexScript = redis.NewScript(flexLua)

// When flex is given up for a while: half of its last calls were shed, or none was
// served for long. What is paid more for meanwhile is the price of going on, so
// looks come every ten minutes at first and never rarer than by the hour.
const (
	flexOf      = 10
	flexShed    = 5
	flexDry     = 5 * time.Minute
	flexHold    = 10 * time.Minute
	flexLongest = time.Hour
)

// FlexState is whether a lane's rows that may go by flex do so.
type FlexState struct {
	Since time.Time `json:"since,omitzero"` // since when they are asked for as standard instead; zero: they go by flex
	Until time.Time `json:"until,omitzero"` // when flex is tried next
	due   bool      // it is time for that
}

// Escaped says that flex has no capacity and standard is asked for instead.
func (s FlexState) Escaped() bool { return !s.Since.IsZero() }

// Flex reads how it stands with a lane's flex tier.
func Flex(ctx context.Context, rdb redis.UniversalClient, lane string) (FlexState, error) {
	what, s, err := flexCall(ctx, rdb, lane, "look", "")
	s.due = what == "due"
	return s, err
}

func flexCall(ctx context.Context, rdb redis.UniversalClient, lane, op string, arg any) (what string, s FlexState, err error) {
	reply, err := flexScript.Run(ctx, rdb, []string{flexKey(lane)}, op, arg,
		flexOf, flexShed, flexDry.Milliseconds(), flexHold.Milliseconds(), flexLongest.Milliseconds()).StringSlice()
	if err != nil {
		return "", s, fmt.Errorf("flex of %s: %w", lane, err)
	}
	if len(reply) != 3 {
		return "", s, fmt.Errorf("flex of %s: strange answer of %d parts", lane, len(reply))
	}
	s.Since, s.Until = milliTime(reply[1]), milliTime(reply[2])
	return reply[0], s, nil
}

func milliTime(s string) time.Time {
	ms, _ := strconv.ParseInt(s, 10, 64)
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// flexSeen is how long a process goes by what it read of the fleet's decision.
const flexSeen = time.Second

// flex is the lane's flex tier as this process sees it.
type flex struct {
	mu    sync.Mutex
	state FlexState
	read  time.Time
}

// ask says whether the next call may go by flex; probe that it is the fleet's one
// look, to be ended by leaveFlex, flexServed or flexWasShed. With Redis away flex is as
// it was last.
func (l *lane) askFlex(ctx context.Context) (yes, probe bool) {
	s := l.flexNow(ctx)
	switch {
	case !s.Escaped():
		return true, false
	case !s.due:
		return false, false
	}
	what, _, err := flexCall(ctx, l.w.cfg.Redis, l.name, "probe", (l.w.cfg.FlexTimeout + time.Minute).Milliseconds())
	return err == nil && what == "1", err == nil && what == "1"
}

// flexNow reads the fleet's decision when the last look at it is old.
func (l *lane) flexNow(ctx context.Context) FlexState {
	now := l.w.cfg.Now()
	l.flex.mu.Lock()
	defer l.flex.mu.Unlock()
	if now.Sub(l.flex.read) < flexSeen {
		return l.flex.state
	}
	s, err := Flex(ctx, l.w.cfg.Redis, l.name)
	if err != nil {
		l.w.cfg.Logger.Debug("whether flex serves is not known", "lane", l.name, "err", err)
		return l.flex.state
	}
	l.flex.state, l.flex.read = s, now
	return s
}

// leaveFlex ends a look that did not go out.
func (l *lane) leaveFlex(ctx context.Context) {
	if _, _, err := flexCall(ctx, l.w.cfg.Redis, l.name, "leave", ""); err != nil {
		l.w.cfg.Logger.Debug("a look at flex is not given back", "lane", l.name, "err", err)
	}
	l.flex.forget()
}

func (f *flex) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = time.Time{}
}

// tellFlex tells the fleet what became of a call by flex, and everybody what the fleet
// makes of it. It gives how it stands then.
func (l *lane) tellFlex(ctx context.Context, served, probe bool) FlexState {
	op, was := "shed", 0
	if served {
		op = "served"
	}
	if probe {
		was = 1
	}
	what, s, err := flexCall(ctx, l.w.cfg.Redis, l.name, op, was)
	if err != nil {
		l.w.cfg.Logger.Debug("what flex did is not told", "lane", l.name, "err", err)
		return s
	}
	if what != "" || probe {
		l.flex.forget()
	}
	switch what {
	case "escaped":
		l.noteFlex(ctx, fmt.Sprintf("%s: the flex tier has no capacity: rows go by standard, at its price; flex is tried again in %s",
			modelOf(l.name), max(0, s.Until.Sub(l.w.cfg.Now())).Round(time.Second)))
	case "back":
		l.noteFlex(ctx, fmt.Sprintf("%s: the flex tier serves again, after %s: rows go by flex",
			modelOf(l.name), l.w.cfg.Now().Sub(s.Since).Round(time.Second)))
	}
	return s
}

func (l *lane) noteFlex(ctx context.Context, text string) {
	l.w.cfg.Logger.Warn(text, "lane", l.name)
	note, ok := l.w.cfg.Gate.(noter)
	if !ok {
		return
	}
	if err := note.Note(ctx, limiter.Event{Kind: limiter.EventProvider, Subject: l.name, Text: text, By: l.w.info.ID}); err != nil {
		l.w.cfg.Logger.Debug("an event is not kept", "text", text, "err", err)
	}
}
