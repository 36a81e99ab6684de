package gemini

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/historyput.lua
var historyPutLua string

var historyPutScript = redis.NewScript(historyPutLua)

// LaneStates gives what lanes look like now: limiter.Redis.
type LaneStates interface {
	Lanes(ctx context.Context) ([]limiter.LaneConfig, error)
	States(ctx context.Context, lanes []limiter.Lane) ([]limiter.LaneState, error)
}

// HistorianOptions has the rarer settings of a Historian; zero fields take the defaults.
type HistorianOptions struct {
	Lanes  LaneStates    // whose limits and loans are kept; nil: nobody's
	Every  time.Duration // between blocks that still grow; default 10 s
	Logger *slog.Logger  // nil means none

	redisNow func() time.Time // replaces Redis's clock in tests
}

// Historian makes the history that History reads, of what meters count. Each process
// that counts runs one; one of them works at a time, and another takes over within
// half a minute. With 100 lanes, 1,000 tenants and 100 calls a second it costs that
// process two hundredths of a processor (BenchmarkHistoryMemory), and Redis less.
type Historian struct {
	*History
	opts    HistorianOptions
	writer  string
	raw     detailReader
	levels  levelLog
	growing growingBlocks
	looked  time.Time // at the lanes
	failed  tally
}

// NewHistorian makes the history of one scope.
func NewHistorian(rdb redis.UniversalClient, scope limiter.Scope, opts HistorianOptions) *Historian {
	opts.Every = cmp.Or(opts.Every, 10*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Historian{History: NewHistory(rdb, scope), opts: opts, writer: newID(), raw: newDetailReader(rdb, scope), growing: growingBlocks{}}
	h.redisNow = opts.redisNow
	return h
}

// Run works until the context ends. What goes wrong is logged once a minute and tried
// again: nothing is lost as long as the meter keeps its own buckets, a quarter of an
// hour for steps of ten seconds.
func (h *Historian) Run(ctx context.Context) {
	tick := time.NewTicker(h.opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			h.leave(context.WithoutCancel(ctx))
			return
		case <-tick.C:
		}
		if err := h.Step(ctx); err != nil && ctx.Err() == nil {
			if n, due := h.failed.note(time.Now()); due {
				h.opts.Logger.Warn("the history of use cannot be kept now; it is tried again", "times", n, "error", err)
			}
		}
	}
}

// Step writes what is due, if no other process does.
func (h *Historian) Step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	mine, err := h.hold(ctx)
	if err != nil || !mine {
		clear(h.growing) // another one's now
		return err
	}
	now, err := h.now(ctx)
	if err != nil {
		return err
	}
	return errors.Join(h.look(ctx, now), h.fine(ctx, now), h.coarse(ctx, now), h.packMinutes(ctx, now), h.packHours(ctx, now))
}

// hold takes the lock, or keeps it.
func (h *Historian) hold(ctx context.Context) (bool, error) {
	lease := 3 * h.opts.Every
	free, err := h.rdb.SetNX(ctx, h.keys.lock(), h.writer, lease).Result()
	if err != nil || free {
		return free, err
	}
	holder, err := h.rdb.Get(ctx, h.keys.lock()).Result()
	if errors.Is(err, redis.Nil) || holder != h.writer {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, h.rdb.PExpire(ctx, h.keys.lock(), lease).Err()
}

// leave lets another process go on at once.
func (h *Historian) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if holder, err := h.rdb.Get(ctx, h.keys.lock()).Result(); err == nil && holder == h.writer {
		_ = h.rdb.Del(ctx, h.keys.lock()).Err() // it ends by itself
	}
}

// put writes a tier's block in all its views. A final one replaces the meter's own
// buckets that are named.
func (h *Historian) put(ctx context.Context, t historyTier, index int64, final bool, views map[historyView]*block, instead ...string) error {
	keys, mark, pack := []string{h.keys.lock(), h.keys.root}, "", (*block).pack
	if final {
		mark, pack = strconv.FormatInt(index, 10), (*block).packFinal
	}
	args := []any{h.writer, len(views), t.name, mark}
	for v, b := range views {
		keys, args = append(keys, h.keys.block(t, index, v)), append(args, pack(b), (t.keeps(v)+t.block).Milliseconds())
	}
	done, err := historyPutScript.Run(ctx, h.rdb, append(keys, instead...), args...).Int()
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if done == 0 {
		return errors.New("history: another process makes it now")
	}
	return nil
}

// fine writes the blocks of ten seconds that grow or have just become final. The
// meter keeps what they are made of for a quarter of an hour.
func (h *Historian) fine(ctx context.Context, now time.Time) error {
	done, err := h.done(ctx, tierFine)
	if err != nil {
		return err
	}
	open := tierFine.index(now)
	for i := max(done+1, tierFine.index(now.Add(-tenantKept))+1); i <= open; i++ {
		final := tierFine.final(i, now)
		if !final && h.growing.whole(i) {
			continue // it waits for what comes late
		}
		if err := h.fineBlock(ctx, i, now, final); err != nil {
			return err
		}
	}
	return nil
}

func (h *Historian) fineBlock(ctx context.Context, index int64, now time.Time, final bool) error {
	begin := tierFine.begin(index)
	until := limiter.Earlier(now.Truncate(tierFine.step), begin.Add(tierFine.block))
	d, err := h.detail(ctx, index, until, now, final)
	if err != nil {
		return err
	}
	views := d.views()
	if views[viewLevels], err = h.levels.block(ctx, h.History, index); err != nil {
		return err
	}
	views[viewLimits] = views[viewLevels].ofAll()
	for _, b := range views {
		b.until = until
	}
	return h.put(ctx, tierFine, index, final, views)
}

// detail is what was counted in a block until a time. All of a final one is read anew.
func (h *Historian) detail(ctx context.Context, index int64, until, now time.Time, final bool) (detail, error) {
	if final {
		return h.raw.fine(ctx, tierFine.begin(index), tierFine.steps())
	}
	g := h.growing.at(index)
	return g.detail, g.grow(ctx, h.raw, until, now)
}
