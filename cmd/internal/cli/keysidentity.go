package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter/gateway"
)

// keysOptions say whom a key stands for.
type keysOptions struct {
	*factory
	Name     string
	Class    string
	Feature  string
	Features []string
	Tenant   string
	Expires  string
	FromEnv  string
	Limits   keyLimits

	Secret string // that was made; "" for an adopted key
}

func (o *keysOptions) addIdentityFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&o.Name, "name", "", "a `NAME` for people (default: the feature)")
	fl.StringVar(&o.Class, "class", "interactive", "the highest `CLASS` that its calls may have: "+strings.Join(classNames(), ", "))
	fl.StringVar(&o.Feature, "feature", "", "what calls are for that do not say (without it, each has to)")
	fl.StringSliceVar(&o.Features, "features", nil, "the only features that calls may name: `chat,search` (default: any)")
	fl.StringVar(&o.Tenant, "tenant", "", "`TENANT[/TEAM]` on whose behalf")
	fl.StringVar(&o.Expires, "expires", "", "when it ends: a `DAY` (2027-01-31) or a time from now (720h)")
	o.Limits.addFlags(cmd)
}

// identity reads the flags.
func (o *keysOptions) identity() (who gateway.Identity, err error) {
	c, err := o.config()
	if err != nil {
		return who, err
	}
	who = gateway.Identity{Name: o.Name, Project: c.Gemini.Project, Class: o.Class, Feature: o.Feature, Features: o.Features}
	who.Name = orElse(who.Name, orElse(o.Feature, strings.Join(o.Features, ", ")))
	if who.Name == "" {
		return who, usageErrorf("who is it for? give --name or --feature")
	}
	if !slices.Contains(classNames(), o.Class) {
		return who, usageErrorf("--class %s: known are %s", o.Class, strings.Join(classNames(), ", "))
	}
	if err := o.checkFeatures(c); err != nil {
		return who, err
	}
	if who.Path.Tenant, who.Path.Team, _ = strings.Cut(o.Tenant, "/"); o.Tenant != "" && who.Path.Tenant == "" || strings.HasSuffix(o.Tenant, "/") {
		return who, usageErrorf("--tenant %s: want TENANT or TENANT/TEAM", o.Tenant)
	}
	if o.Expires != "" {
		who.Expires, err = o.expiry(o.Expires)
	}
	return who, err
}

// checkFeatures wants features that the configuration lists, where it lists any.
func (o *keysOptions) checkFeatures(c *loaded) error {
	if o.Feature != "" {
		if err := c.featureOK("--feature", o.Feature); err != nil {
			return &usageError{err}
		}
	}
	for _, f := range o.Features {
		if err := c.featureOK("--features", f); err != nil {
			return &usageError{err}
		}
	}
	return nil
}

// expiry reads a day, whose beginning is the end, or a time from now.
func (f *factory) expiry(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return f.now().Add(d), nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil || !day.After(f.now()) {
		return day, usageErrorf("--expires %s: want a day to come, such as 2027-01-31, or a time from now, such as 720h", text)
	}
	return day, nil
}
