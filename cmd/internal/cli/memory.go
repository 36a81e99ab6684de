package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// memory is what Redis says of its own; the zero value: it does not tell.
type memory struct {
	used, most int64
	machine    bool   // most is its machine's memory: it has no limit of its own
	policy     string // what it does at its limit; "" unknown
}

// redisMemory asks INFO. A managed Redis may forbid it, and the embedded one has no
// figures.
func (b *backend) redisMemory(ctx context.Context) memory {
	info, err := b.rdb.Info(ctx, "memory").Result()
	if err != nil {
		return memory{}
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(infoField(info, name), 10, 64)
		return n
	}
	m := memory{used: number("used_memory"), most: number("maxmemory"), policy: infoField(info, "maxmemory_policy")}
	if m.most == 0 {
		m.most, m.machine = number("total_system_memory"), true
	}
	return m
}

func (m memory) free() int64 { return max(m.most-m.used, 0) }

// limit names what bounds Redis.
func (m memory) limit() string {
	if m.machine {
		return "its machine's " + size(m.most)
	}
	return "maxmemory " + size(m.most)
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// memoryWarns is the share of Redis's memory from which an enqueue warns.
const memoryWarns = 80

// fits refuses an enqueue whose rows Redis cannot hold, before the first of them is
// written, and says when little room is left. Where Redis tells nothing it is tried.
func (b *backend) fits(ctx context.Context, p *jobs.Prepared) (warning string, err error) {
	m := b.redisMemory(ctx)
	fresh, err := b.freshRows(ctx, p)
	if err != nil || m.most == 0 || p.Rows == 0 {
		return "", err
	}
	return m.fits(fresh, jobs.RowsMemory(fresh, p.Bytes/p.Rows*fresh))
}

func (m memory) fits(rows, need int64) (warning string, err error) {
	if need > m.free() {
		return "", fmt.Errorf("these rows do not fit into Redis: %s rows need about %s while they wait, %s of %s are free. Nothing was enqueued.\n"+
			"Raise maxmemory, remove runs that have ended (`nightshift purge --finished --dry-run` shows their size), or split the input",
			humanize.Comma(rows), size(need), size(m.free()), m.limit())
	}
	if m.used+need > m.most/100*memoryWarns {
		return fmt.Sprintf("Redis will be %d %% full: these rows take about %s, and %s of %s are in use", (m.used+need)*100/m.most, size(need), size(m.used), m.limit()), nil
	}
	return "", nil
}

// evicts warns of a Redis that makes room by forgetting what waits; "" for one that
// does not, or does not tell.
func (m memory) evicts() string {
	if m.machine || m.policy == "" || m.policy == "noeviction" {
		return "" // without a limit of its own it evicts nothing
	}
	return fmt.Sprintf("Redis forgets rows unseen when it is full (maxmemory-policy %s, %s of %s in use). Before the night:\n"+
		"  redis-cli CONFIG SET maxmemory-policy noeviction", m.policy, size(m.used), size(m.most))
}

// freshRows is how many rows an enqueue adds at most: those of the run of the same
// name are there already.
func (b *backend) freshRows(ctx context.Context, p *jobs.Prepared) (int64, error) {
	if p.Spec.Name == "" {
		return p.Rows, nil
	}
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		if r.Spec.Name == p.Spec.Name {
			return max(p.Rows-r.Rows, 0), nil
		}
	}
	return p.Rows, nil
}

// usualRow is a row of 1 kB, for who has no rows waiting to measure.
const usualRow = 1000

// checkMemory is doctor's: what a waiting row takes now, and how many more fit.
func (b *backend) checkMemory(ctx context.Context) checkup {
	m := b.redisMemory(ctx)
	open, each, from := b.backlogMemory(ctx, m)
	is := fmt.Sprintf("%s waiting rows take %s each (%s)", humanize.Comma(open), size(each), from)
	if open == 0 {
		is = fmt.Sprintf("no rows wait; one of 1 kB would take about %s", size(each))
	}
	if m.most == 0 {
		return checkup{"memory", verdictUnknown, is + "; this Redis does not tell how much it has", "ask its operator"}
	}
	is += fmt.Sprintf("; %s of %s in use, room for about %s more", size(m.used), m.limit(), humanize.Comma(m.free()/max(each, 1)))
	if m.used > m.most/100*memoryWarns {
		return checkup{"memory", verdictBad, is, "raise maxmemory, or nightshift purge --finished"}
	}
	return checkup{"memory", verdictGood, is, ""}
}

// backlogMemory is how many rows are open and what one takes in bytes, measured
// where Redis tells.
func (b *backend) backlogMemory(ctx context.Context, m memory) (open, each int64, from string) {
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return 0, jobs.RowsMemory(1, usualRow), ""
	}
	largest, most := "", int64(0)
	for _, r := range runs {
		c, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			continue
		}
		open += c.Open()
		if n := c[jobs.Queued] + c[jobs.Waiting]; n > most {
			largest, most = r.ID, n
		}
	}
	if largest != "" {
		if each, err = b.store.RowMemory(ctx, largest); err == nil && each > 0 {
			return open, each, "measured"
		}
	}
	if open > 0 && m.used > 0 {
		return open, m.used / open, "at most: all that Redis uses"
	}
	return open, jobs.RowsMemory(1, usualRow), "of 1 kB: reckoned"
}
