package cli

import "nightshift/cmd/internal/dashboard"

// contents is how much operators see of what rows contain.
func (c DashboardConfig) contents() dashboard.Contents {
	switch {
	case c.Mask == nil:
		return dashboard.Redacted
	case *c.Mask:
		return dashboard.Masked
	}
	return dashboard.Plain
}
