package cli

import (
	"strings"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// ownPause is a pause as a tenant is told of it: neither by whom nor with what words,
// which may be about others.
func ownPause(p *limiter.Pause) string {
	what := "bulk work is paused"
	if p.Run != "" {
		what = "the run is paused"
	}
	switch p.Reason {
	case scheduler.ReasonHealth:
		return what + " while people's calls need the room"
	case scheduler.ReasonWindow:
		return what + " outside its work window"
	case scheduler.ReasonBudget:
		return what + " since its money is spent"
	case scheduler.ReasonDaily:
		return what + " since the day's quota is used up"
	case scheduler.ReasonCredentials:
		return what + " since the provider refuses the key that is used for it"
	case scheduler.ReasonStop:
		return what + " by an emergency stop"
	case scheduler.ReasonBrake:
		return what + " since too many of its rows fail"
	}
	return what + " by the operators"
}

// ownWait is what a tenant's line waits for: its own limit by name and figures, any other
// without what others use of it.
func ownWait(e *explained) string {
	d := e.Denied
	switch d.Reason {
	case limiter.ReasonQuota, limiter.ReasonSpend, limiter.ReasonShare:
		kind, id, _ := strings.Cut(d.Node, "/")
		if kind == "tenant" && id == e.Path.Tenant || kind == "team" && id == e.Path.Team || kind == "key" && id == e.Path.Key || kind == "run" && id == e.Path.Run {
			return explainWords{}.why(e)
		}
		if d.Money() {
			return "a limit on money that it shares with others"
		}
		return d.Limiter + " of the model, which it shares with others"
	case limiter.ReasonSmoothing:
		return "an even pace: there is room, but not at once"
	case limiter.ReasonTurn:
		return "its turn: others of the model wait too"
	case limiter.ReasonCooldown, limiter.ReasonBreaker:
		return "the provider: calls of the model would fail now"
	case limiter.ReasonCredentials:
		return "a key that the provider takes"
	case limiter.ReasonSlots:
		return "a free place: too many calls are under way"
	}
	return "room for its next call"
}
