package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

type showOptions struct {
	*factory
	Model string
	Watch bool
	Every time.Duration
}

func newQuotaShowCmd(f *factory) *cobra.Command {
	o := &showOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "show [MODEL]",
		Short: "Show each limit: used, reserved, lent, booked, enforced, by whom it was set",
		Long: "Shows each limit of a lane (a model): what is used and what waits for it, what is enforced of what was set,\n" +
			"and when the next of it is free; then what each class uses of it:\n\n" +
			"  RESERVED  what the classes below leave to it now, used or not\n" +
			"  LENT      what of its guarantee the classes below may use now\n" +
			"  BORROWED  what it uses of what is lent; it is given back within a window\n" +
			"  ROOM      the most that it may take now",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaShow(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Watch, "watch", "w", false, "again and again, until Ctrl-C; where there is no terminal, a line for each limit")
	cmd.Flags().DurationVar(&o.Every, "every", time.Second, "time between two looks of --watch")
	f.addOutputFlag(cmd)
	return cmd
}

// quotaView is what quota show knows at one moment.
type quotaView struct {
	Project string              `json:"project"`
	At      time.Time           `json:"at"`
	Lanes   []limiter.LaneState `json:"lanes"`
}

func runQuotaShow(ctx context.Context, o *showOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if !o.Watch {
		v, err := be.quota(ctx, o.Model, o.now())
		if err != nil {
			return err
		}
		return o.show(v)
	}
	return o.again(ctx, o.Every, func() error {
		v, err := be.quota(ctx, o.Model, o.now())
		switch {
		case err != nil:
			return err
		case o.opts.output == "table" && !terminal(o.screen()):
			o.showLines(v)
			return nil
		}
		return o.show(v)
	})
}

// quota gathers the limits of one model, or of all.
func (b *backend) quota(ctx context.Context, model string, now time.Time) (*quotaView, error) {
	lanes, err := b.laneStates(ctx, model)
	if err == nil && len(lanes) == 0 {
		err = noLane(model, nil)
	}
	return &quotaView{Project: b.conf.Gemini.Project, At: now, Lanes: lanes}, err
}

func (o *showOptions) show(v *quotaView) error {
	switch o.opts.output {
	case "json":
		return o.print(nil, v)
	case "plain":
		return o.print(v.plainTable(o.now()), v)
	}
	for i, s := range v.Lanes {
		if i > 0 {
			fmt.Fprintln(o.Out)
		}
		if err := o.showLane(s); err != nil {
			return err
		}
	}
	return nil
}

// plainTable is one line for each class's part of each limit, for scripts.
func (v *quotaView) plainTable(now time.Time) *dataTable {
	t := newTable("NODE", "LIMIT", "SET", "ENFORCED", "USED", "BOOKED", "NEXT FREE", "CLASS", "USED", "RESERVED", "LENT", "BORROWED", "ROOM")
	for _, s := range v.Lanes {
		for _, l := range s.Limits {
			borrowed := borrowed(l)
			for i, c := range l.Classes {
				t.row(s.Lane, l.Name, l.Amount, l.Effective, l.Used, l.Booked, nextFree(l, s.At, now),
					c.Class, c.Used, c.Protected, c.Lent, borrowed[i], c.Room)
			}
		}
	}
	return t
}
