package limiter

import "testing"

// TestMoneyLimit: what binds is named, from the lane to the run, and a limit in
// shadow is none.
func TestMoneyLimit(t *testing.T) {
	lane := Lane{Provider: "p", Project: "x", Region: "r", Model: "m"}
	month := Limits{RPM: 5, USDPerMonth: 7}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"none":            {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{RPM: 5}}}}, ""},
		"the lane's":      {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{USDPerDay: 5, USDPerMonth: 7}}}}, "usd_per_day"},
		"another lane's":  {Config{Lanes: []LaneConfig{{Lane: Lane{Model: "other"}, Limits: month}}}, ""},
		"a node's":        {Config{Nodes: map[string]Limits{"tenant/acme": month}}, "usd_per_month of tenant/acme"},
		"a kind's":        {Config{Nodes: map[string]Limits{"tenant/*": month}}, "usd_per_month of tenant/acme"},
		"another node's":  {Config{Nodes: map[string]Limits{"tenant/other": month}}, ""},
		"the feature's":   {Config{Nodes: map[string]Limits{"feature/chat": {USDPer10m: 1}}}, "usd_per_10m of feature/chat"},
		"in shadow":       {Config{Nodes: map[string]Limits{"tenant/acme": month}, Shadow: map[string][]string{"tenant/acme": {"usd_per_month"}}}, ""},
		"kind in shadow":  {Config{Nodes: map[string]Limits{"tenant/*": month}, Shadow: map[string][]string{"tenant/*": {"usd_per_month"}}}, ""},
		"lane in shadow":  {Config{Lanes: []LaneConfig{{Lane: lane, Limits: month}}, Shadow: map[string][]string{lane.String(): {"usd_per_month"}}}, ""},
		"one of two left": {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{USDPerDay: 5, USDPerMonth: 7}}}, Shadow: map[string][]string{lane.String(): {"usd_per_day"}}}, "usd_per_month"},
	} {
		if got := c.config.MoneyLimit(lane, Path{Tenant: "acme"}, "chat"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
