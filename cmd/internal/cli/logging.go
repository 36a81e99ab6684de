package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

// LogConfig is how the processes that go on running log, on standard error. What
// commands say to the person at the terminal is not logged.
type LogConfig struct {
	Format string `yaml:"format"` // text or json; default text
	Level  string `yaml:"level"`  // debug, info, warn or error; default info
}

func (c LogConfig) check() error {
	if c.Format != "" && c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("log.format: %q; want text or json", c.Format)
	}
	if _, err := c.level(); err != nil {
		return fmt.Errorf("log.level: %q; want debug, info, warn or error", c.Level)
	}
	return nil
}

func (c LogConfig) level() (l slog.Level, err error) {
	if c.Level == "" {
		return slog.LevelInfo, nil
	}
	if strings.ContainsAny(c.Level, "+-") {
		return l, fmt.Errorf("level %q", c.Level)
	}
	err = l.UnmarshalText([]byte(c.Level))
	return l, err
}

// logFlags are a service's flags over log.format and log.level.
type logFlags struct {
	Format, Level string
	JSON          bool // the older name of --log-format json
}

func (o *logFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&o.Format, "log-format", "", "text or json: `FORMAT` of the log (default log.format)")
	fl.StringVar(&o.Level, "log-level", "", "debug, info, warn or error: the least `LEVEL` that is logged (default log.level)")
	fl.BoolVar(&o.JSON, "log-json", false, "log JSON lines")
	_ = fl.MarkHidden("log-json") // --log-format json
}

// logger is a long-running process's log.
func (f *factory) logger(o logFlags) (*slog.Logger, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	conf := LogConfig{Format: orElse(o.Format, c.Log.Format), Level: orElse(o.Level, c.Log.Level)}
	if o.JSON && o.Format == "" {
		conf.Format = "json"
	}
	if err := conf.check(); err != nil {
		return nil, usageErrorf("--%s", strings.Replace(err.Error(), ".", "-", 1))
	}
	return newLogger(f.Err, conf, c.secrets()...), nil
}

// secrets are the credentials of this process that no pattern may know.
func (l *loaded) secrets() []string {
	key, _ := l.apiKey() // whoever needs it says what is wrong
	return []string{key, l.Dashboard.Token, l.Dashboard.ViewToken}
}

// newLogger logs as conf says, which was checked. No credential goes through it:
// texts and errors are looked at, wherever they come from.
func newLogger(w io.Writer, conf LogConfig, secrets ...string) *slog.Logger {
	level, _ := conf.level()
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: redactor(secrets).attr}
	if conf.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// redactor knows credentials beside those whose shape tells them.
type redactor []string

// attr takes credentials out of whatever a line says, its message too.
func (r redactor) attr(_ []string, a slog.Attr) slog.Attr {
	if word := oneWord[a.Key]; word != "" {
		a.Key = word
	}
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.text(v.String()))
		if a.Key == "subject" && v.String() == "" {
			return slog.Attr{} // of nothing in particular
		}
	case slog.KindDuration: // in JSON it would be a bare number of nanoseconds
		a.Value = slog.StringValue(v.Duration().String())
	case slog.KindAny: // errors above all; in JSON a value of another kind would come out as it is made
		if v.Any() == nil {
			return slog.Attr{} // no error
		}
		a.Value = slog.StringValue(r.text(fmt.Sprint(v.Any())))
	}
	return a
}

// oneWord is the key of what the packages, each by its own habit, call differently.
var oneWord = map[string]string{"error": "err", "cause": "reason"}

// login is what a URL has before its host.
var login = regexp.MustCompile(`(\w://)[^/\s@"']+@`)

func (r redactor) text(s string) string {
	for _, secret := range r {
		if len(secret) >= leastSecret {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return login.ReplaceAllString(gemini.Redact(s), "$1***@")
}

// leastSecret keeps a short word that serves as a token from eating all texts.
const leastSecret = 8

// started is a process's first line: what it is and what it works with.
func (b *backend) started(ctx context.Context, process string, more ...any) {
	b.log.InfoContext(ctx, process+" is ready", append([]any{
		"version", version(), "redis", redisHost(b.conf.Redis), "project", b.conf.Gemini.Project, "region", b.conf.Gemini.Region,
		"api", b.conf.Gemini.API, "models", len(b.conf.Models), "config", orElse(b.conf.File, "none"), "digest", digest(b.conf.limiterConfig()),
	}, append(more, "settings", b.conf.settingsInForce())...)...)
}

// mostSettings are the bytes of a line that settings may take.
const mostSettings = 16 << 10

// settingsInForce are the settings that are not the defaults of this version, without
// credentials: "gemini.project=p; models.m.rpm=60".
func (l *loaded) settingsInForce() string {
	var all []string
	for _, k := range l.k.Keys() {
		key := strings.ReplaceAll(k, keySep, ".")
		if l.Sources[key] == "default" {
			continue
		}
		value := shown(key, l.k.Get(k))
		if key == "hooks" {
			value = l.shownHooks()
		}
		all = append(all, fmt.Sprintf("%s=%v", key, value))
	}
	slices.Sort(all)
	return cutText(strings.Join(all, "; "), mostSettings)
}
