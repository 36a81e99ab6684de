package cli

import (
	"context"

	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// acceptedOptions choose among what diff has decided.
type acceptedOptions struct {
	Accepted bool
	Into     string
}

func (o *acceptedOptions) addFlags(*pflag.FlagSet) {}

func (o *acceptedOptions) check(*resultsOptions) error { return nil }

func (b *backend) acceptedLines(context.Context, jobs.Run, lineSource) (lineSource, error) {
	return nil, nil
}

func (o *resultsOptions) writeInto(context.Context, *backend, jobs.Run) error { return nil }
