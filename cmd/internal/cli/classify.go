package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

type classifyOptions struct {
	*factory
	Now string
}

func newClassifyCmd(f *factory) *cobra.Command {
	o := &classifyOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "classify FILE|- ...",
		Short: "Say what an answer of the API means: who has to wait for what, and until when",
		Long: "Reads saved answers and prints a line of JSON for each: kind, scope, retry_after_s, retry_at, reason, evidence.\n" +
			"An answer is {\"http_status\": 429, \"headers\": {…}, \"body\": …}, the body as JSON or as a string, or a body alone:\n" +
			"JSON, HTML or text. It needs no configuration and no Redis.\n\n" +
			"kind is wait (until retry_at), backoff (again with growing delay), daily_reset, budget_stop, permanent, unknown,\n" +
			"or ok for a good answer. scope is who is affected: job, tool, model, project, billing_account or worker.\n" +
			"retry_after_s and retry_at are null where the answer gives no time.",
		Example: "  nightshift classify answer.json\n  curl -s … | nightshift classify -",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return runClassify(o, args) },
	}
	cmd.Flags().StringVar(&o.Now, "now", "", "judge as of this `MOMENT` (2026-11-30T02:00:00Z) instead of now")
	return cmd
}

// classified is a verdict as it is printed; every field is always there.
type classified struct {
	Kind        string     `json:"kind"`
	Scope       string     `json:"scope"`
	RetryAfterS *int64     `json:"retry_after_s"`
	RetryAt     *time.Time `json:"retry_at"`
	Reason      string     `json:"reason"`
	Evidence    []string   `json:"evidence"`
}

func runClassify(o *classifyOptions, files []string) error {
	now := o.now()
	if o.Now != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, o.Now); err != nil {
			return usageErrorf("--now %s: want a moment such as 2026-11-30T02:00:00Z", o.Now)
		}
	}
	enc := json.NewEncoder(o.Out)
	enc.SetEscapeHTML(false)
	for _, file := range files {
		a, err := o.savedAnswer(file)
		if err != nil {
			return err
		}
		if err := enc.Encode(classifiedOf(gemini.Classify(a, now), now)); err != nil {
			return err
		}
	}
	return nil
}

// savedMost bounds what is read of one file.
const savedMost = 256 << 20

func (o *classifyOptions) savedAnswer(file string) (gemini.Answer, error) {
	in, name := o.In, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return gemini.Answer{}, &codedError{exitInvalidInput, fmt.Errorf("%s cannot be read: %w", file, plainPathError(err))}
		}
		defer f.Close()
		in, name = f, file
	}
	raw, err := io.ReadAll(io.LimitReader(in, savedMost+1))
	switch {
	case err != nil:
		return gemini.Answer{}, &codedError{exitInvalidInput, fmt.Errorf("%s cannot be read: %w", name, plainPathError(err))}
	case len(raw) > savedMost:
		return gemini.Answer{}, &codedError{exitInvalidInput, fmt.Errorf("%s is larger than %d MiB: no answer of the API is", name, savedMost>>20)}
	}
	a, err := gemini.ParseSaved(raw)
	if err != nil {
		return a, &codedError{exitInvalidInput, fmt.Errorf("%s: %w", name, err)}
	}
	return a, nil
}

// plainPathError drops the path, which the message has already.
func plainPathError(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

func classifiedOf(v gemini.Verdict, now time.Time) classified {
	if v.Kind == "" {
		return classified{Kind: "ok", Scope: string(gemini.ScopeJob), Reason: "ok", Evidence: []string{"a whole answer"}}
	}
	out := classified{Kind: string(v.Kind), Scope: string(v.Scope), Reason: v.Reason, Evidence: v.Evidence}
	if at := v.RetryAt; !at.IsZero() {
		at = at.UTC()
		seconds := int64(math.Ceil(at.Sub(now).Seconds()))
		out.RetryAt, out.RetryAfterS = &at, &seconds
	}
	return out
}
