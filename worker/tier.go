package worker

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"

	"google.golang.org/genai"
)

const (
	// flexOwn is how often a row is shed by flex before it goes by standard whatever
	// flex does for others.
	flexOwn = 2
	// flexAgain is when a row that flex shed once comes back, at least and half as much
	// again at most.
	flexAgain = 10 * time.Second
)

// ByFlex says that a run's rows may go by flex.
func ByFlex(s jobs.Spec) bool {
	t := s.Steer.ServiceTier
	return s.Kind != jobs.Embed && (t == gemini.TierFlex || t == jobs.TierAuto)
}

// takeTier decides by which tier the row's call goes: the run's, and in flex's place
// standard where flex has shed this row or too many others, or the run's deadline
// leaves no time for it.
func (l *lane) takeTier(ctx context.Context, j *job) {
	j.tier, j.probe = j.run.Spec.Steer.ServiceTier, false
	if j.run.Spec.Kind == jobs.Embed {
		j.tier = "" // embeddings have none
	}
	if !ByFlex(j.run.Spec) {
		return
	}
	j.tier = gemini.TierStandard
	if j.draft.Tries[gemini.ReasonFlex] >= flexOwn || l.tooLateForFlex(j.run) {
		return
	}
	if !j.slot { // no call will go out
		if !l.flexNow(ctx).Escaped() {
			j.tier = gemini.TierFlex
		}
		return
	}
	if yes, probe := l.askFlex(ctx); yes {
		j.tier, j.probe = gemini.TierFlex, probe
	}
}

// tooLateForFlex holds for a run that chooses by itself when its deadline is so near
// that a call which flex held up and shed could not be made again before.
func (l *lane) tooLateForFlex(r *run) bool {
	end := r.Spec.Steer.Deadline
	return r.Spec.Steer.ServiceTier == jobs.TierAuto && !end.IsZero() && end.Sub(l.w.cfg.Now()) < 2*l.w.cfg.FlexTimeout
}

// callTime bounds the row's call. Flex answers within 1 to 15 minutes
// (https://ai.google.dev/gemini-api/docs/flex-inference).
func (l *lane) callTime(j *job) time.Duration {
	if j.tier == gemini.TierFlex {
		return max(l.w.cfg.FlexTimeout, l.w.cfg.CallTimeout)
	}
	return l.w.cfg.CallTimeout
}

// longestCall bounds every call.
func (c Config) longestCall() time.Duration { return max(c.CallTimeout, c.FlexTimeout) }

// wireTier is the row's tier as the API takes it; the zero value asks for none.
func (j *job) wireTier() genai.ServiceTier { return genai.ServiceTier(j.tier) }

// flexMet tells the fleet what the call was worth for flex, and says whether it was
// shed.
func (l *lane) flexMet(ctx context.Context, j *job, seen *gemini.Observation) (shed bool) {
	if j.tier != gemini.TierFlex {
		return false
	}
	switch v := seen.Verdict; {
	case v != nil && v.Reason == gemini.ReasonFlex:
		j.flex = l.tellFlex(ctx, false, j.probe)
		return true
	case seen.Status == 200 && seen.Degraded == nil:
		l.tellFlex(ctx, true, j.probe)
	case j.probe: // refused by us, or for another reason: it says nothing of flex
		l.leaveFlex(ctx)
	}
	return false
}

// shedByFlex puts a row back that flex had no capacity for. It costs no attempt; a row
// that meets it again, or after others have, comes back at once and goes by standard.
func (l *lane) shedByFlex(ctx context.Context, j *job) outcome {
	d := j.draft
	if d.Tries = maps.Clone(d.Tries); d.Tries == nil {
		d.Tries = map[string]int{}
	}
	d.Tries[gemini.ReasonFlex]++
	if err := l.w.cfg.Store.SaveDraft(ctx, j.task, d); err != nil {
		l.w.cfg.Logger.Debug("that flex shed a row is not kept", "row", j.row, "run", j.task.Run, "err", err)
	}
	if j.flex.Escaped() || d.Tries[gemini.ReasonFlex] >= flexOwn {
		return outcome{wait: time.Millisecond, why: "flex has no capacity: goes by standard"}
	}
	return outcome{wait: flexAgain + rand.N(flexAgain/2), why: "waiting for capacity of the flex tier"}
}

// servedBy notes the tier that a call was served by, and paid for.
func (j *job) servedBy(seen *gemini.Observation) {
	if j.run.Spec.Kind != jobs.Embed && seen.Status == 200 {
		j.served = cmp.Or(seen.Usage.Tier, seen.Tier, gemini.TierStandard)
	}
}
