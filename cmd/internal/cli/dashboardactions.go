package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// pauseAction pauses what the form's target names, as `nightshift pause` does: a
// class, a run or a queue, until the form's until.
func (b *backend) pauseAction() dashboard.Action {
	return dashboard.Action{
		Name: "pause", Title: "Pause",
		Ask: func(form url.Values) string {
			return fmt.Sprintf("Pause %s? Nothing more of it starts until somebody resumes it; calls in flight end and are kept, and waiting rows keep their places.", form.Get("target"))
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			now := time.Now()
			until, err := moment(form.Get("until"), now)
			if err != nil {
				return out, fmt.Errorf("until %s: %w", form.Get("until"), err)
			}
			c := b.control()
			target, err := c.ParseTarget(ctx, form.Get("target"))
			if err != nil {
				return out, err
			}
			out.Target = c.Describe(ctx, target)
			if out.Before, err = b.pausesOf(ctx, target, now); err != nil {
				return out, err
			}
			effect, err := c.Pause(ctx, scheduler.PauseRequest{Target: target, Owner: by.By(), Until: until, Detail: strings.TrimSpace(form.Get("reason"))})
			if err != nil {
				return out, err
			}
			out.Said = pausedSentence(out.Target, effect, until, now, false)
			out.After, err = b.pausesOf(ctx, target, now)
			return out, err
		},
	}
}

// resumeAction lifts what a person paused, as `nightshift resume` does.
func (b *backend) resumeAction() dashboard.Action {
	return dashboard.Action{
		Name: "resume", Title: "Resume",
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			override, err := overrideOf(form)
			if err != nil {
				return out, err
			}
			c, now := b.control(), time.Now()
			target, err := c.ParseTarget(ctx, form.Get("target"))
			if err != nil {
				return out, err
			}
			out.Target = c.Describe(ctx, target)
			if out.Before, err = b.pausesOf(ctx, target, now); err != nil {
				return out, err
			}
			effect, err := c.Resume(ctx, target, scheduler.ResumeRequest{By: by.By(), Override: override})
			if err != nil {
				return out, err
			}
			warning, err := b.stoppedRun(ctx, target.Run)
			if err != nil {
				return out, err
			}
			out.Said = resumedSentence(out.Target, effect, now) + warning
			out.After, err = b.pausesOf(ctx, target, now)
			return out, err
		},
	}
}

func overrideOf(form url.Values) (time.Duration, error) {
	text := form.Get("override")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, errors.New("override: want how long the health monitor is overruled, at least 1s, such as 30m")
	}
	return d, nil
}

// pausesOf is what holds exactly this target, in a few words: "runs" for nothing.
func (b *backend) pausesOf(ctx context.Context, t scheduler.Target, now time.Time) (string, error) {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return "", err
	}
	var held []string
	for _, p := range pauses {
		if p.Class == t.Class && p.Run == t.Run && p.Lane == t.Lane && string(p.Priority) == string(t.Priority) {
			held = append(held, pauseWords(p, now))
		}
	}
	if len(held) == 0 {
		return "runs", nil
	}
	return strings.Join(held, "; "), nil
}

func pauseWords(p limiter.Pause, now time.Time) string {
	return fmt.Sprintf("paused (%s by %s) %s", p.Reason, p.Owner, untilWords(p.Until, now))
}
