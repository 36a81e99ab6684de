package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// specOptions are the flags that say how a run is made: the same for run, plan
// and enqueue.
type specOptions struct {
	Template string
	Prompt   string
	Name     string
	Kind     string
	Model    string
	System   string
	Schema   string
	Matrix   []string
	Feature  string
	Tenant   string
	Priority string
	Class    string
	MaxWait  time.Duration
	Attempts int
	answerFlags
	inputFlags
	steerFlags
	designFlags
	tierFlags
	reuseFlags
	keepFlag
	OtherModel string

	Settings       jobs.Settings
	temperature    float32
	topP           float32
	topK           float32
	seed           int32
	thinkingBudget int32

	dups *repeats // set by plan, which counts rows that ask the same
}

func (o *specOptions) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&o.Template, "template", "t", "", "`FILE` with the prompt, a Go text/template over the row's fields; or .yaml with system, turns, files and outputs")
	fl.StringVar(&o.Prompt, "prompt", "", "the prompt template itself, instead of a file")
	fl.StringVar(&o.Name, "name", "", "a name for the run; the same name again adds what is missing")
	fl.StringVar(&o.Kind, "kind", string(jobs.Generate), "generate or embed")
	fl.StringVar(&o.Model, "model", "", "the model (default run.model)")
	fl.StringVar(&o.System, "system", "", "`FILE` with the system instruction, a template too")
	fl.StringVar(&o.Schema, "schema", "", "`FILE` with a JSON Schema that every answer has to satisfy")
	fl.StringArrayVar(&o.Matrix, "matrix", nil, "`NAME=a,b,c`: make each row once for each value")
	fl.StringVar(&o.Feature, "feature", "", "what the calls are for (default run.feature)")
	fl.StringVar(&o.Tenant, "tenant", "", "`TENANT[/TEAM]` on whose behalf")
	fl.StringVar(&o.Priority, "priority", "", "high, normal or low")
	fl.StringVar(&o.Class, "class", "", "`CLASS` of the calls: bulk, evaluation or background (default bulk)")
	fl.DurationVar(&o.MaxWait, "max-wait", 0, "a row that waited longer than this ends as expired (default: rows wait as long as it takes)")
	fl.IntVar(&o.Attempts, "attempts", 0, "real failures before a row fails (default worker.attempts)")
	o.addSettingFlags(fl)
	o.add(fl)
	o.addInputFlags(fl)
	o.addSteerFlags(fl)
	o.addDesignFlags(fl)
	o.addTierFlags(fl)
	o.addReuseFlags(fl)
	o.addKeepFlag(fl)
	fl.StringVar(&o.OtherModel, "other-model", "", "the `MODEL` that may answer rows which would have to wait long for theirs, of those that degrade.models declares; "+
		"results say instead_of where it did (default: rows wait as long as it takes)")
	for flag, values := range map[string][]string{
		"kind": {string(jobs.Generate), string(jobs.Embed)}, "priority": {"high", "normal", "low"}, "class": {"bulk", "evaluation", "background"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flags are there
	}
}

func (o *specOptions) addSettingFlags(fl *pflag.FlagSet) {
	fl.Float32Var(&o.temperature, "temperature", 0, "sampling temperature")
	fl.Float32Var(&o.topP, "top-p", 0, "nucleus sampling")
	fl.Float32Var(&o.topK, "top-k", 0, "top-k sampling")
	fl.Int32Var(&o.seed, "seed", 0, "sampling seed")
	fl.Int32Var(&o.thinkingBudget, "thinking-budget", 0, "thinking `TOKENS`; 0 turns thinking off where the model allows it, -1 lets the model choose")
	fl.Int32Var(&o.Settings.MaxOutputTokens, "max-output-tokens", 0, "cap of the answer in tokens, thinking included")
	fl.StringArrayVar(&o.Settings.StopSequences, "stop", nil, "a stop sequence")
	fl.StringVar(&o.Settings.ResponseMIMEType, "mime", "", "the answer's MIME type, for example application/json")
	fl.StringVar(&o.Settings.TaskType, "task-type", "", "embeddings: RETRIEVAL_DOCUMENT, SEMANTIC_SIMILARITY, …")
	fl.Int32Var(&o.Settings.Dimensions, "dimensions", 0, "embeddings: length of the vector")
}

// spec builds the run's specification from flags and configuration. What is
// wrong is an error of the command line, or of a file that it names.
func (o *specOptions) spec(cmd *cobra.Command, c *loaded) (jobs.Spec, error) {
	s := jobs.Spec{
		API:      c.answersFrom(),
		Name:     o.Name,
		Kind:     jobs.Kind(o.Kind),
		Model:    c.realModel(orElse(o.Model, c.Run.Model)),
		Feature:  orElse(o.Feature, c.Run.Feature),
		Class:    orElse(o.Class, "bulk"),
		Priority: jobs.Priority(orElse(o.Priority, c.Run.Priority)),
		IDColumn: orElse(o.IDColumn, c.Run.IDColumn),
		Attempts: cmp.Or(o.Attempts, c.Worker.Attempts),
	}
	for _, err := range []error{
		oneOf("--kind", o.Kind, string(jobs.Generate), string(jobs.Embed)),
		oneOf("--priority", string(s.Priority), "high", "normal", "low"),
		c.featureOK("--feature", s.Feature), o.class(&s, c),
		o.name(), o.numbers(cmd), o.kindFlags(cmd), o.matrix(&s),
		o.tenant(&s, c), o.texts(&s), o.settings(cmd, &s), o.overDesign(&s), o.answers(cmd, &s, c), o.tier(&s, c), o.otherModel(&s, c), o.keep(&s),
	} {
		if err != nil {
			return s, asUsage(err)
		}
	}
	if o.Template == "" && o.Prompt == "" && o.Model == "" {
		s.Model = "" // lines of a batch file may name it
	} else if s.Model == "" {
		return s, usageErrorf("no model: give --model, or set run.model in %s", configName)
	}
	return s, nil
}

// class wants one whose refused jobs wait in line, and a wait that makes sense.
func (o *specOptions) class(s *jobs.Spec, c *loaded) error {
	var lined []string
	for _, k := range c.classTable() {
		if k.Tickets {
			lined = append(lined, k.Name)
		}
	}
	if o.MaxWait < 0 || o.MaxWait > 0 && o.MaxWait < time.Second {
		return fmt.Errorf("--max-wait: %s; want at least 1s", o.MaxWait)
	}
	s.MaxWait = o.MaxWait
	return oneOf("--class", s.Class, lined...)
}

// asUsage makes an error one of the command line, unless it has a code already.
func asUsage(err error) error {
	var coded *codedError
	if errors.As(err, &coded) {
		return err
	}
	return &usageError{err}
}

func (o *specOptions) tenant(s *jobs.Spec, c *loaded) error {
	t := orElse(o.Tenant, c.Run.Tenant)
	if t == "" {
		return nil
	}
	p := strings.Split(t, "/")
	for _, part := range p {
		if err := nameOK("--tenant", part); err != nil {
			return err
		}
	}
	switch len(p) {
	case 1:
		s.Tenant = p[0]
	case 2:
		s.Tenant, s.Team = p[0], p[1]
	case 3:
		s.Organization, s.Tenant, s.Team = p[0], p[1], p[2]
	default:
		return fmt.Errorf("--tenant %q: want TENANT, TENANT/TEAM or ORGANIZATION/TENANT/TEAM", t)
	}
	return nil
}

func (o *specOptions) texts(s *jobs.Spec) error {
	switch {
	case o.Template != "" && o.Prompt != "":
		return fmt.Errorf("give --template or --prompt, not both")
	case (o.Template != "" || o.Prompt != "") && strings.HasSuffix(o.Format, "-batch"):
		return fmt.Errorf("--format %s: lines of a batch file are sent as they are: leave the template out, or give --format jsonl", o.Format)
	}
	if jobs.IsDesign(o.Template) {
		return o.readDesign(s)
	}
	s.Template = o.Prompt
	return firstError(
		readText(&s.Template, "--template", o.Template),
		readText(&s.System, "--system", o.System),
	)
}

func readText(at *string, flag, path string) error {
	if path == "" {
		return nil
	}
	text, err := jobs.ReadText(path)
	if err != nil {
		return invalid(fmt.Errorf("%s: %w", flag, err))
	}
	*at = text
	return nil
}

func (o *specOptions) settings(cmd *cobra.Command, s *jobs.Spec) error {
	s.Settings = o.Settings
	set := func(flag string, put func()) {
		if cmd.Flags().Changed(flag) {
			put()
		}
	}
	set("temperature", func() { s.Settings.Temperature = &o.temperature })
	set("top-p", func() { s.Settings.TopP = &o.topP })
	set("top-k", func() { s.Settings.TopK = &o.topK })
	set("seed", func() { s.Settings.Seed = &o.seed })
	set("thinking-budget", func() { s.Settings.ThinkingBudget = &o.thinkingBudget })
	if o.Schema == "" {
		return nil
	}
	return o.schema(s)
}

// schema reads the file: one that cannot be used would make every row fail.
func (o *specOptions) schema(s *jobs.Spec) error {
	b, err := os.ReadFile(o.Schema)
	if err != nil {
		return invalid(fmt.Errorf("--schema: %w", err))
	}
	if err := jobs.CheckSchema(b); err != nil {
		return invalid(fmt.Errorf("--schema %s: %w", o.Schema, err))
	}
	s.Settings.ResponseSchema = b
	s.Settings.ResponseMIMEType = orElse(s.Settings.ResponseMIMEType, "application/json")
	return nil
}

func (o *specOptions) matrix(s *jobs.Spec) error {
	for _, m := range o.Matrix {
		name, values, ok := strings.Cut(m, "=")
		axis := jobs.Axis{Name: name, Values: strings.Split(values, ",")}
		if !ok || name == "" || slices.Contains(axis.Values, "") {
			return fmt.Errorf("--matrix %q: want NAME=value,value,… and no empty value", m)
		}
		s.Matrix = append(s.Matrix, axis)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
