package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

const (
	defaultOutside       = 0.05
	defaultContextTokens = 1 << 20 // 1,048,576 input tokens: the usual Gemini context window
	ppm                  = 1_000_000
	mostLimitDollars     = 1_000_000 // of a limit: the limiter counts micro-dollars to that much
)

// namePattern keeps names usable as parts of keys, queues and paths.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// check refuses what no part could work with, naming the key.
func (l *loaded) check() error {
	c := &l.Config
	checks := []error{
		apiOK(c.Gemini.API), l.checkVertex(),
		nameOK("gemini.project", c.Gemini.Project),
		nameOK("gemini.region", c.Gemini.Region),
		redisOK(c.Redis), baseURLOK(c.Gemini.BaseURL), keyEnvOK(c.Gemini.APIKeyEnv),
		oneOf("run.priority", c.Run.Priority, "high", "normal", "low"),
		countOK("run.reask", c.Run.Reask, maxReask), haltOK("run.halt", c.Run.Halt),
		atLeast("worker.concurrency", int64(c.Worker.Concurrency), 1),
		atLeast("worker.attempts", int64(c.Worker.Attempts), 1),
		atLeast("worker.call_timeout (in seconds)", int64(c.Worker.CallTimeout/time.Second), 15),
		atLeast("worker.flex_timeout (in seconds)", int64(c.Worker.FlexTimeout/time.Second), 60), c.checkTier(), c.checkSchedules(),
		atLeast("records.keep (in minutes)", int64(c.Records.Keep/time.Minute), 1),
		zoneOK("time_zone", c.TimeZone), c.checkSpend(), c.checkRetention(), l.readPrices(),
		c.checkModels(), c.checkClasses(), l.checkZeros(), c.checkNodes(), c.checkFeatures(),
		c.checkHealth(), c.checkWindows(), c.checkListeners(), c.checkEnforced(), c.checkDegrade(), c.checkRoutes(), c.checkHooks(), c.checkAlerts(),
		c.checkMetrics(), c.Log.check(), c.Telemetry.check(),
	}
	for _, err := range checks {
		if err != nil {
			return l.located(err)
		}
	}
	return nil
}

// located adds where the faulty value came from.
func (l *loaded) located(err error) error {
	key, _, _ := strings.Cut(err.Error(), ":")
	key, _, _ = strings.Cut(key, " (")
	if src := l.Sources[key]; src != "" && src != "default" {
		return configErrorf("%s: %v", src, err)
	}
	if l.File != "" {
		return configErrorf("%s: %v", l.File, err)
	}
	return configErrorf("configuration: %v", err)
}

func (c *Config) checkModels() error {
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m, key := c.Models[name], "models."+name
		if m.Outside != nil {
			if err := share(key+".outside", m.Outside); err != nil {
				return err
			}
		}
		if err := oneOf(key+".lend", m.Lend, "", "auto", "now", "never"); err != nil {
			return err
		}
		if err := nameOK(key, name); err != nil {
			return err
		}
		for _, alias := range append([]string{name}, m.Aliases...) {
			if o, taken := owner[strings.ToLower(alias)]; taken {
				return fmt.Errorf("%s.aliases: %q already stands for %s", key, alias, o)
			}
			owner[strings.ToLower(alias)] = name
		}
		if m.ContextTokens < 0 {
			return fmt.Errorf("%s.context_tokens: %d is negative", key, m.ContextTokens)
		}
		if m.OutputTokens < 0 {
			return fmt.Errorf("%s.output_tokens: %d is negative", key, m.OutputTokens)
		}
		if err := firstError(m.check(key), shadowOK(key+".shadow", m.Shadow)); err != nil {
			return err
		}
		if len(m.limits().List()) == 0 {
			return fmt.Errorf("%s: no limits; give it at least rpm or input_tpm (%s shows them)", key, limitsPage)
		}
	}
	return nil
}

func (c *Config) checkClasses() error {
	var sum float64
	for _, name := range slices.Sorted(maps.Keys(c.Classes)) {
		cc, key := c.Classes[name], "classes."+name
		if !slices.ContainsFunc(defaultClasses, func(d limiter.Class) bool { return d.Name == name }) {
			return fmt.Errorf("%s: unknown class; known are %s", key, strings.Join(classNames(), ", "))
		}
		if err := firstError(share(key+".guarantee", cc.Guarantee), share(key+".floor", cc.Floor), share(key+".trickle", cc.Trickle),
			share(key+".cap", cc.Cap), share(key+".output_floor", cc.OutputFloor)); err != nil {
			return err
		}
		if q := cc.OutputQuantile; q != nil && (!(*q >= 0.01) || *q > 0.999) {
			return fmt.Errorf("%s.output_quantile: %v; want a part of calls from 0.01 to 0.999", key, *q)
		}
		if cc.Guarantee != nil {
			sum += *cc.Guarantee
		}
		if cc.MaxWait != nil && *cc.MaxWait < 0 {
			return fmt.Errorf("%s.max_wait: %s is negative", key, *cc.MaxWait)
		}
		if cc.MaxStream != nil && *cc.MaxStream <= 0 {
			return fmt.Errorf("%s.max_stream: %s; want more than nothing, as in 10m", key, *cc.MaxStream)
		}
	}
	if sum > 1 {
		return fmt.Errorf("classes: the guarantees add up to %.2f; they share one limit, so at most 1", sum)
	}
	return nil
}

// check wants every amount to be absent or positive, and money to be a number that can
// be counted.
func (lc LimitConfig) check(key string) error {
	counts := map[string]int64{
		"rpm": lc.RPM, "input_tpm": lc.InputTPM, "output_tpm": lc.OutputTPM, "total_tpm": lc.TotalTPM, "ipm": lc.IPM,
		"rpd": lc.RPD, "tpd": lc.TPD, "concurrency": lc.Concurrency, "streams": lc.Streams,
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n < 0 {
			return fmt.Errorf("%s.%s: %d is negative; leave it out for no limit", key, name, n)
		}
	}
	money := map[string]float64{"usd_per_10m": lc.USDPer10m, "usd_per_day": lc.USDPerDay, "usd_per_month": lc.USDPerMonth, "usd_total": lc.USDTotal}
	for _, name := range slices.Sorted(maps.Keys(money)) {
		if v := money[name]; v != 0 && !(v*ppm >= 0.5 && v <= mostLimitDollars) { // NaN is neither
			return fmt.Errorf("%s.%s: %v is no amount of dollars from 0.000001 to %d; leave it out for no limit", key, name, v, mostLimitDollars)
		}
	}
	return nil
}

// limits converts to the limiter's form: dollars become micro-dollars here,
// and nowhere else.
func (lc LimitConfig) limits() limiter.Limits {
	usd := func(v float64) int64 { return int64(math.Round(v * 1e6)) }
	return limiter.Limits{
		RPM: lc.RPM, InputTPM: lc.InputTPM, OutputTPM: lc.OutputTPM, TotalTPM: lc.TotalTPM, IPM: lc.IPM,
		RPD: lc.RPD, TPD: lc.TPD, Concurrency: lc.Concurrency, Streams: lc.Streams,
		USDPer10m: usd(lc.USDPer10m), USDPerDay: usd(lc.USDPerDay), USDPerMonth: usd(lc.USDPerMonth), USDTotal: usd(lc.USDTotal),
	}
}

// redisOK wants a URL that a client can be made of.
func redisOK(url string) error {
	if url == "embedded" {
		return nil
	}
	client, err := worker.PatientClient(url, 1)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return client.Close()
}

// baseURLOK refuses what would put a key or a login into every URL.
func baseURLOK(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("gemini.base_url: %q is no http or https URL", gemini.Redact(text))
	case u.RawQuery != "" || u.User != nil:
		return errors.New("gemini.base_url: no login and no ?query in it; the key comes from the environment")
	}
	return nil
}

// apiOK tells whoever puts an address there where it belongs.
func apiOK(api string) error {
	if strings.Contains(api, "://") {
		return fmt.Errorf("gemini.api: %q; want live, vertex or simulated, and the address in gemini.base_url", gemini.Redact(api))
	}
	return oneOf("gemini.api", api, "live", "vertex", "simulated")
}

var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// keyEnvOK catches a key in the place of a variable's name.
func keyEnvOK(name string) error {
	if envPattern.MatchString(name) && gemini.Redact(name) == name {
		return nil
	}
	return errors.New("gemini.api_key_env: want the name of an environment variable, such as GEMINI_API_KEY; the key itself goes into that variable, never into a file")
}

func oneOf(key, v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	return fmt.Errorf("%s: %q; want %s", key, v, strings.Join(slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" }), ", "))
}

func nameOK(key, v string) error {
	if namePattern.MatchString(v) {
		return nil
	}
	return fmt.Errorf("%s: %q; want letters, digits, '.', '_' and '-', at most 100", key, v)
}

func atLeast(key string, v, least int64) error {
	if v >= least {
		return nil
	}
	return fmt.Errorf("%s: %d; want at least %d", key, v, least)
}

func share(key string, v *float64) error {
	if v == nil || (*v >= 0 && *v <= 1) {
		return nil
	}
	return fmt.Errorf("%s: %v; want a share from 0 to 1", key, *v)
}

func zoneOK(key, v string) error {
	if _, err := time.LoadLocation(v); err != nil || v == "" || v == "Local" { // Local is another one on each host
		return fmt.Errorf("%s: %q is no time zone such as Europe/Paris", key, v)
	}
	return nil
}

func (c *Config) lane(bucket string) limiter.Lane {
	return limiter.Lane{Provider: "gemini", Project: c.Gemini.Project, Region: c.Gemini.Region, Model: strings.ToLower(bucket)}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
