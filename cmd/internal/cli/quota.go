package cli

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter"
)

func newQuotaCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "Show what is used, held and waited for, by limit; change limits while the fleet runs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newQuotaShowCmd(f), newQuotaStateCmd(f), newQuotaSetCmd(f), newQuotaUnsetCmd(f), newQuotaExplainCmd(f),
		newQuotaWhoCmd(f), newQuotaHistoryCmd(f), newQuotaReviewCmd(f))
	return cmd
}

func equalModel(name string, l limiter.Lane) bool { return strings.EqualFold(name, l.Model) }

func noLane(model string, lanes []limiter.LaneConfig) error {
	if len(lanes) == 0 {
		return fmt.Errorf("no limits are known to the shared state yet: a worker or an enqueue brings those of its configuration")
	}
	var known []string
	for _, l := range lanes {
		known = append(known, l.Lane.Model)
	}
	return usageErrorf("no lane %q; known are %s", model, strings.Join(known, ", "))
}

func waiting(s limiter.LaneState) int64 {
	var n int64
	for _, l := range s.Leaves {
		n += l.Waiting
	}
	return n + int64(len(s.InPlace))
}

// amount prints money as dollars and everything else as a count.
func amount(u limiter.Unit, n int64) string {
	if n > limiter.Unlimited/2 { // less what is left outside
		return "none"
	}
	if u == limiter.MicroUSD {
		return usd(n)
	}
	return humanize.Comma(n)
}
