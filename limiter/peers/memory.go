package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nightshift/limiter"
)

// memoryRow is what Redis keeps for one thing.
type memoryRow struct {
	name  string
	bytes int64
	bar   int64 // 0: none
}

// allLimits are all that a node may have, in amounts of a large customer's quota.
var allLimits = limiter.Limits{RPM: 20_000, InputTPM: 40_000_000, OutputTPM: 8_000_000, TotalTPM: 48_000_000, IPM: 5_000,
	RPD: 1_000_000, TPD: 2_000_000_000, Concurrency: 3_000, Streams: 1_000, USDPer10m: 10_000_000_000, USDPerDay: 500_000_000_000, USDPerMonth: 900_000_000_000}

// memory plays a day to a lane with all limits, and a tenant with three: first an hour at a
// time, then eleven minutes in which every class uses every slot.
func (h *harness) memory(ctx context.Context) ([]memoryRow, error) {
	now := noon
	r, lane, err := h.lane(lanePlan{limits: allLimits, nodes: map[string]limiter.Limits{"tenant/*": {RPM: 20_000, InputTPM: 40_000_000, USDPerDay: 500_000_000_000}}, classes: fiveClasses, now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	n := 0
	call := func(class string) error {
		n++
		id := fmt.Sprintf("k3f9x2:%08d:0", n)
		// forced, so that every class has its part of every slot
		q := limiter.Request{ID: id, Lane: lane, Class: class, Path: limiter.Path{Tenant: "shop", Run: "k3f9x2"}, Force: true,
			Amounts: limiter.Amounts{20, 43_211, 8_765, 51_976, 3, 123_456, 1, 1}}
		if _, err := r.Acquire(ctx, q); err != nil {
			return err
		}
		return r.Settle(ctx, limiter.Settlement{ID: id, Lane: lane, Outcome: limiter.Settled, Used: q.Amounts})
	}
	play := func(span, every time.Duration) error {
		for end := now.Add(span); now.Before(end); now = now.Add(every) {
			for _, c := range fiveClasses {
				if err := call(c.Name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, part := range [][2]time.Duration{{23*time.Hour + 49*time.Minute, 5 * time.Minute}, {10 * time.Minute, 5 * time.Second}, {time.Minute, 500 * time.Millisecond}} {
		if err := play(part[0], part[1]); err != nil {
			return nil, err
		}
	}
	rows, err := h.sizes(ctx, lane)
	if err != nil {
		return nil, err
	}
	ticket, err := h.ticket(ctx)
	return append(rows, ticket), err
}

// sizes asks for the lane's and the nodes' own keys.
func (h *harness) sizes(ctx context.Context, lane limiter.Lane) ([]memoryRow, error) {
	var rows []memoryRow
	keys, err := h.rdb.Keys(ctx, "nightshift:{limiter:"+lane.Scope().String()+"}:*").Result()
	for _, k := range keys {
		name := k[strings.LastIndexByte(k, '}')+2:]
		row := memoryRow{name: "`" + name + "`"}
		switch {
		case strings.HasSuffix(name, ":lane"):
			row = memoryRow{name: "lane, 12 limits, all classes in every slot", bar: 64 << 10}
		case strings.HasSuffix(name, "tenant/*"):
			row = memoryRow{name: "pattern of the tenants' limits"}
		case strings.Contains(name, "tenant/"):
			row = memoryRow{name: "tenant node, 3 limits, all classes in every slot", bar: 8 << 10}
		case strings.HasSuffix(name, ":permits"), strings.HasSuffix(name, ":leases"), name == "events":
			continue
		}
		if row.bytes, err = h.rdb.MemoryUsage(ctx, k, 0).Result(); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, err
}

// ticket is what one of 20,000 that wait takes: the keys of tickets and of leaves.
func (h *harness) ticket(ctx context.Context) (memoryRow, error) {
	const n = 20_000
	row := memoryRow{name: "ticket", bar: 150}
	r, lane, err := h.lane(lanePlan{limits: wideThree, classes: fiveClasses})
	if err != nil {
		return row, err
	}
	if err := book(ctx, r, lane, limiter.Path{Tenant: "shop", Run: "k3f9x2", Priority: limiter.Normal}, n); err != nil {
		return row, err
	}
	keys, err := h.rdb.Keys(ctx, "nightshift:{limiter:"+lane.Scope().String()+"}:*").Result()
	for _, k := range keys {
		if strings.HasSuffix(k, ":tickets") || strings.HasSuffix(k, ":leaves") {
			bytes, err := h.rdb.MemoryUsage(ctx, k, 0).Result()
			if err != nil {
				return row, err
			}
			row.bytes += bytes
		}
	}
	row.bytes = (row.bytes + n - 1) / n
	return row, err
}

func printMemory(t *table, rows []memoryRow) {
	t.head("Redis memory after a day of full load (MEMORY USAGE)", "what", "bytes", "bar")
	for _, r := range rows {
		bar := ""
		if r.bar > 0 {
			bar = fmt.Sprintf("≤ %d %s", r.bar, verdict(r.bytes <= r.bar))
		}
		t.row(r.name, fmt.Sprint(r.bytes), bar)
	}
}
