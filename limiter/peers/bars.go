package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

func wanted(only []string, name string) bool { return len(only) == 0 || slices.Contains(only, name) }

// windowBar is rule 1: no window holds more than the limit.
const windowBar = 1.0

func (h *harness) showWindows(ctx context.Context, t *table) (missed []string, err error) {
	rows, err := h.windows(ctx, 3, 40*time.Minute)
	if err != nil {
		return nil, err
	}
	printWindows(t, rows)
	if rows[0].factor > windowBar {
		missed = append(missed, fmt.Sprintf("%.3f of the limit in a window", rows[0].factor))
	}
	return missed, nil
}

func (h *harness) showSettling(ctx context.Context, t *table) (missed []string, err error) {
	rows, err := h.settling(ctx)
	if err != nil {
		return nil, err
	}
	printSettling(t, rows)
	for i, ok := range rows[0].right {
		if !ok {
			missed = append(missed, settlements[i].name)
		}
	}
	return missed, nil
}

func (h *harness) showCosts(ctx context.Context, t *table, o options) (missed []string, err error) {
	rows, err := h.cost(ctx, o.rounds, o.calls)
	if err != nil {
		return nil, err
	}
	printCosts(t, rows)
	for _, r := range rows {
		if r.bar > 0 && r.ratio > r.bar {
			missed = append(missed, fmt.Sprintf("%s: %.2f × redis_rate", r.name, r.ratio))
		}
	}
	return missed, nil
}

func (h *harness) showCallers(ctx context.Context, t *table, o options) (missed []string, err error) {
	rows, err := h.many(ctx, min(o.rounds, 5), time.Second/2)
	if err != nil {
		return nil, err
	}
	printCallers(t, rows)
	for _, r := range rows {
		if r.failed > 0 && r.name != "throttled, 1 dimension" {
			missed = append(missed, fmt.Sprintf("%s: %d failed calls", r.name, r.failed))
		}
	}
	return missed, nil
}

func (h *harness) showFlat(ctx context.Context, t *table, o options) (missed []string, err error) {
	rows, err := h.flat(ctx, o.rounds, o.calls)
	if err != nil {
		return nil, err
	}
	printFlat(t, rows)
	for _, r := range rows {
		if r.growth > flatBar {
			missed = append(missed, fmt.Sprintf("%s: %.2f", r.name, r.growth))
		}
	}
	return missed, nil
}

func (h *harness) showMemory(ctx context.Context, t *table) (missed []string, err error) {
	rows, err := h.memory(ctx)
	if err != nil {
		return nil, err
	}
	printMemory(t, rows)
	for _, r := range rows {
		if r.bar > 0 && r.bytes > r.bar {
			missed = append(missed, fmt.Sprintf("%s: %d bytes", r.name, r.bytes))
		}
	}
	return missed, nil
}
