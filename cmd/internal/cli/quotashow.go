package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

type showOptions struct {
	*factory
	What  string // a model or a node; "": all
	Watch bool
	Every time.Duration
}

func newQuotaShowCmd(f *factory) *cobra.Command {
	o := &showOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "show [MODEL|NODE]",
		Short: "Show each limit: used, reserved, lent, booked, enforced, by whom it was set",
		Long: "Shows each limit of a lane (a model) or a node (tenant/acme): what is used and what waits for it, what is\n" +
			"enforced of what was set, and when the next of it is free; then what each class uses of it:\n\n" +
			"  RESERVED  what the classes below leave to it now, used or not\n" +
			"  LENT      what of its guarantee the classes below may use now\n" +
			"  BORROWED  what it uses of what is lent; it is given back within a window\n" +
			"  ROOM      the most that it may take now",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.What = firstArg(args)
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
	Nodes   []limiter.NodeState `json:"nodes"` // that have limits of their own, the fullest first
	Set     []setValue          `json:"set"`   // over the configuration
	more    int                 // nodes that were not looked at
}

func runQuotaShow(ctx context.Context, o *showOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if !o.Watch {
		v, err := be.quota(ctx, o.What, o.now())
		if err != nil {
			return err
		}
		return o.show(v)
	}
	return o.again(ctx, o.Every, func() error {
		v, err := be.quota(ctx, o.What, o.now())
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

// quota gathers the limits of one model or node, or of all.
func (b *backend) quota(ctx context.Context, what string, now time.Time) (*quotaView, error) {
	v := &quotaView{Project: b.conf.Gemini.Project, At: now, Lanes: []limiter.LaneState{}, Nodes: []limiter.NodeState{}, Set: []setValue{}}
	var err error
	if isNode(what) {
		if name, is := strings.CutPrefix(what, "key/"); is {
			if what, err = b.keyNamed(ctx, name); err != nil {
				return nil, err
			}
		}
		err = v.addNodes(ctx, b, []string{what})
		if errors.Is(err, limiter.ErrUnknownNode) {
			err = b.noNode(ctx, what)
		}
		return v, err
	}
	if v.Lanes, err = b.laneStates(ctx, what); err != nil {
		return nil, err
	}
	if len(v.Lanes) == 0 {
		return nil, noLane(what, nil)
	}
	if what != "" {
		return v, nil
	}
	nodes, err := b.lim.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.addNodes(ctx, b, slices.DeleteFunc(nodes, isPattern)); err != nil {
		return nil, err
	}
	return v, v.addSet(ctx, b)
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
	o.showNodes(v)
	o.showSet(v)
	return nil
}

// plainTable is one line for each class's part of each limit, for scripts.
func (v *quotaView) plainTable(now time.Time) *dataTable {
	t := newTable("NODE", "LIMIT", "SET", "ENFORCED", "USED", "BOOKED", "NEXT FREE", "CLASS", "USED", "RESERVED", "LENT", "BORROWED", "ROOM")
	for _, s := range v.Lanes {
		plainRows(t, s.Lane.String(), s.Limits, s.At, now)
	}
	for _, s := range v.Nodes {
		plainRows(t, s.Node, s.Limits, s.At, now)
	}
	return t
}

func plainRows(t *dataTable, node string, limits []limiter.LimitState, at, now time.Time) {
	for _, l := range limits {
		borrowed, inForce := borrowed(l), any(l.Effective)
		if l.Shadow {
			inForce = "shadow"
		}
		for i, c := range l.Classes {
			t.row(node, l.Name, l.Amount, inForce, l.Used, l.Booked, nextFree(l, at, now),
				c.Class, c.Used, c.Protected, c.Lent, borrowed[i], c.Room)
		}
	}
}
