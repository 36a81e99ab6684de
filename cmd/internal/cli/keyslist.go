package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// keyRow is a key as `keys list` shows it.
type keyRow struct {
	gateway.Identity
	State   string            `json:"state"`             // as the table shows it: "adopted", "ends 2027-01-31", "revoked 10:30:00"
	Stopped bool              `json:"stopped,omitempty"` // by an emergency stop, which `nightshift lift` ends
	Limits  map[string]string `json:"limits,omitempty"`  // of its own, by shorthand, as they are enforced

	limits []limiter.Override
}

func newKeysListCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show who has a key; never the key itself",
		Args:  noArgument(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withKeys(cmd.Context(), func(be *backend, keys *gateway.Keys) (*limiter.Event, error) {
				rows, err := f.keyRows(cmd.Context(), be, keys)
				if err != nil {
					return nil, err
				}
				return nil, f.printKeys(be, rows)
			})
		},
	}
	f.addOutputFlag(cmd)
	return cmd
}

func (f *factory) keyRows(ctx context.Context, be *backend, keys *gateway.Keys) ([]keyRow, error) {
	all, err := keys.List(ctx)
	if err != nil {
		return nil, err
	}
	enforced := be.enforced(ctx)
	stopped, err := be.stoppedNodes(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]keyRow, len(all))
	for n, i := range all {
		rows[n] = keyRow{Identity: i, State: keyState(i, f.now())}
		if i.Project == be.conf.Gemini.Project {
			rows[n].fillLimits(enforced)
			if at := orElse(i.Path.Key, i.ID); stopped[keyNode(at)] {
				rows[n].Stopped, rows[n].State = true, "STOPPED, "+rows[n].State
			}
		}
	}
	return rows, nil
}

func (r *keyRow) fillLimits(c limiter.Config) {
	for _, name := range limiter.LimitNames() {
		if x := c.Value(keyNode(orElse(r.Path.Key, r.ID)), name); x.Value > 0 {
			r.limits = append(r.limits, x)
			if r.Limits == nil {
				r.Limits = map[string]string{}
			}
			r.Limits[name] = valueText(x)
		}
	}
}

func (f *factory) printKeys(be *backend, rows []keyRow) error {
	if len(rows) == 0 {
		f.say("no keys yet; `nightshift keys add` makes one, `nightshift keys adopt` takes a team's own")
	}
	t := newTable("ID", "NAME", "PROJECT", "CLASS", "FEATURE", "TENANT", "LIMITS", "STATE")
	for _, k := range rows {
		project, tenant := k.Project, strings.Trim(k.Path.Tenant+"/"+k.Path.Team, "/")
		if project == be.conf.Gemini.Project && f.opts.output == "table" {
			project = "" // most have one project; the column is for those who have not
		}
		t.row(k.ID, k.Name, project, k.Class, keyFeatures(k.Identity), tenant, shortLimits(k.limits), k.State)
	}
	if f.opts.output == "table" {
		most := 26
		if !terminal(f.Out) {
			most = 0 // who reads from a pipe wants all of it
		}
		t.narrow(most, "LIMITS", "STATE")
		t.fold(100, "STATE", "LIMITS", "FEATURE")
	}
	return f.print(t, rows)
}

// keyFeatures is the feature of calls that name none first.
func keyFeatures(k gateway.Identity) string {
	only := strings.Join(k.Features, ",")
	switch {
	case k.Feature != "" && only != "" && only != k.Feature:
		return k.Feature + " of " + only
	case k.Feature != "" || only != "":
		return orElse(k.Feature, only)
	}
	return "(any)"
}

func keyState(k gateway.Identity, now time.Time) string {
	state := []string{"made here"}
	if k.Adopted {
		state[0] = "adopted"
	}
	switch {
	case !k.Revoked.IsZero():
		return "revoked " + dayOrTime(k.Revoked, now)
	case !k.Expires.IsZero() && !k.Expires.After(now):
		return "expired " + dayOrTime(k.Expires, now)
	case !k.OldUntil.IsZero():
		state = append(state, "old secret until "+dayOrTime(k.OldUntil, now))
	}
	if !k.Expires.IsZero() {
		state = append(state, "ends "+dayOrTime(k.Expires, now))
	}
	if len(state) > 1 && !k.Adopted {
		state = state[1:]
	}
	return strings.Join(state, ", ")
}

// dayOrTime is a day, or the time where that is near.
func dayOrTime(t, now time.Time) string {
	if t.Sub(now).Abs() < 36*time.Hour {
		return clock(t, now)
	}
	return t.Local().Format(time.DateOnly)
}

// shortLimits writes limits for a narrow column: "rpm 300, $20.00/day".
func shortLimits(limits []limiter.Override) string {
	var out []string
	for _, x := range limits {
		if per, money := strings.CutPrefix(x.Name, "usd_per_"); money {
			out = append(out, valueText(x)+"/"+per)
		} else {
			out = append(out, x.Name+" "+valueText(x))
		}
	}
	return strings.Join(out, ", ")
}
