package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

func newSpendCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spend",
		Short: "Show what was spent and by whom, and set caps on it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSpendShowCmd(f), newSpendSetCmd(f), newSpendPriceCmd(f), newSpendForecastCmd(f))
	return cmd
}

// exact is money to the micro-dollar, so that columns line up and add up.
func exact(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	return fmt.Sprintf("%s$%d.%06d", sign, micro/1_000_000, micro%1_000_000)
}

// capNames are the money limits by shorthand.
func capNames() (out []string) {
	for _, name := range limiter.LimitNames() {
		if strings.HasPrefix(name, "usd_") {
			out = append(out, name)
		}
	}
	return out
}
