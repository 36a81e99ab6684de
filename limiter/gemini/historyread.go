package gemini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// historyPoints is how many points an answer has at most.
const historyPoints = 600

// historySteps are those that are chosen among.
var historySteps = []time.Duration{
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour,
}

// historyReader gathers one answer.
type historyReader struct {
	*History
	q     HistoryQuery
	now   time.Time
	step  time.Duration
	n     int
	view  historyView
	whole bool   // series keep their names
	only  bool   // limits and loans alone are read, which only blocks have
	all   *block // the answer's points, by group
	known time.Time
	found []Interval
	loans *block
}

func (h *History) reader(ctx context.Context, q HistoryQuery) (*historyReader, error) {
	now, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	r := &historyReader{History: h, q: q, now: now}
	if r.q.By == "" {
		r.q.By = GroupClass
	}
	if r.view, err = r.q.view(); err != nil {
		return nil, err
	}
	if !q.From.Before(q.To) {
		return nil, errors.New("its end is not after its begin")
	}
	r.step = q.Step
	if r.step == 0 {
		r.step = chosenStep(q.From, q.To, now, tierFine.keeps(r.view))
	}
	if r.step%tierFine.step != 0 || r.step < tierFine.step {
		return nil, fmt.Errorf("a step is a multiple of %s", tierFine.step)
	}
	from, to := q.From.Truncate(r.step), q.To.Add(r.step-1).Truncate(r.step)
	if r.n = int(to.Sub(from) / r.step); r.n > 10*historyPoints {
		return nil, fmt.Errorf("%d points of %s: ask for a larger step", r.n, r.step)
	}
	r.q.From, r.q.To = from, to
	r.all, r.loans = newBlock(from, r.step, r.n), newBlock(from, r.step, r.n)
	return r, nil
}

// chosenStep is the smallest that gives few enough points and is kept so far back: fine
// is how long steps below five minutes are.
func chosenStep(from, to, now time.Time, fine time.Duration) time.Duration {
	for _, step := range historySteps {
		if to.Sub(from) <= historyPoints*step && (step >= tierCoarse.step || !from.Before(now.Add(-fine))) {
			return step
		}
	}
	return 24 * time.Hour
}

// now is Redis's.
func (h *History) now(ctx context.Context) (time.Time, error) {
	if h.redisNow != nil {
		return h.redisNow(), nil
	}
	return h.rdb.Time(ctx).Result()
}

// view is the smallest that has what is asked.
func (q HistoryQuery) view() (historyView, error) {
	switch {
	case !slices.Contains(GroupsBy(), q.By):
		return "", fmt.Errorf("cannot tell apart by %q; want feature, tenant, model or class", q.By)
	case (q.Tenant != "" || q.By == GroupTenant) && (q.Feature != "" || q.By == GroupFeature):
		return "", errors.New("features are not told apart by tenant")
	case q.Tenant != "" || q.By == GroupTenant && q.Model != "":
		return viewTenants, nil
	case q.Feature != "" || q.By == GroupFeature && q.Model != "":
		return viewUse, nil
	case q.By == GroupTenant:
		return viewTenant, nil
	case q.By == GroupFeature:
		return viewFeature, nil
	case q.Model != "":
		return viewUse, nil // one that is not among the largest, too
	case q.By == GroupModel:
		return viewLane, nil
	}
	return viewClass, nil
}

// group is the name under which a series is added up; it is not ok for one that the
// query leaves out.
func (r *historyReader) group(series string) (name string, ok bool) {
	p := strings.Split(series, "|")
	if len(p) == 2 { // a view of the largest
		return p[map[bool]int{true: 1, false: 0}[r.view == viewClass]], r.passes("", p[1], "")
	}
	if len(p) != 3 {
		return "", false
	}
	if !r.passes(p[0], p[1], p[2]) {
		return "", false
	}
	switch {
	case r.whole:
		return series, true
	case r.q.By == GroupModel:
		return p[0], true
	case r.q.By == GroupClass:
		return p[1], true
	}
	return p[2], true
}

func (r *historyReader) passes(lane, class, name string) bool {
	_, model, _ := strings.Cut(lane, "/")
	return (r.q.Class == "" || r.q.Class == class) && (r.q.Model == "" || strings.EqualFold(r.q.Model, model)) &&
		(r.q.Feature == "" || r.q.Feature == name) && (r.q.Tenant == "" || r.q.Tenant == name)
}

// read takes coarse blocks where they are final and fine enough, then fine ones, then
// the meter's own buckets.
func (r *historyReader) read(ctx context.Context) error {
	at := r.q.From
	if r.step%tierCoarse.step == 0 {
		done, err := r.done(ctx, tierCoarse)
		if err != nil {
			return err
		}
		end := limiter.Earlier(r.q.To, tierCoarse.begin(done+1))
		if err := r.blocks(ctx, tierCoarse, at, end); err != nil {
			return err
		}
		at = limiter.Later(at, end)
	}
	end := limiter.Earlier(r.q.To, tierFine.begin(tierFine.index(r.now)+1))
	if err := r.blocks(ctx, tierFine, at, end); err != nil {
		return err
	}
	return r.tail(ctx, limiter.Later(at, r.known))
}

// done is the last block of a tier that will not change; -1 when there is none.
func (h *History) done(ctx context.Context, t historyTier) (int64, error) {
	text, err := h.rdb.HGet(ctx, h.keys.root, t.name).Result()
	if errors.Is(err, redis.Nil) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// historyBlocks is how many blocks are asked for at once.
const historyBlocks = 100

func (r *historyReader) blocks(ctx context.Context, t historyTier, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	for first, end := t.index(from), t.index(to.Add(-1)); first <= end; first += historyBlocks {
		last := min(end, first+historyBlocks-1)
		if !r.only {
			if err := r.some(ctx, t, r.view, first, last, from, r.takeBlock); err != nil {
				return err
			}
		}
		if r.q.Levels {
			if err := r.levelBlocks(ctx, t, first, last, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// some reads blocks of one view; the parts of them from a time on are taken.
func (r *historyReader) some(ctx context.Context, t historyTier, v historyView, first, last int64, from time.Time, take func(packedBlock, time.Time) error) error {
	var keys []string
	for i := first; i <= last; i++ {
		keys = append(keys, r.keys.block(t, i, v))
	}
	_, err := r.atKeys(ctx, keys, from, take)
	return err
}

// atKeys reads blocks, and gives the places of those that are not there.
func (r *historyReader) atKeys(ctx context.Context, keys []string, from time.Time, take func(packedBlock, time.Time) error) (away []int, err error) {
	texts, err := r.rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		s, ok := text.(string)
		if !ok {
			away = append(away, i)
			continue
		}
		p, err := openBlock([]byte(s))
		if err != nil {
			continue // of a newer version
		}
		if err := take(p, from); err != nil {
			return nil, err
		}
	}
	return away, nil
}

func (r *historyReader) takeBlock(p packedBlock, from time.Time) error {
	r.known = limiter.Later(r.known, p.until)
	r.found = append(r.found, Interval{limiter.Later(p.begin, from), limiter.Earlier(p.begin.Add(time.Duration(p.n)*p.step), p.until)})
	names := map[string]string{}
	return p.each(func(series string) bool {
		name, ok := r.group(series)
		names[series] = name
		return ok
	}, func(series string, field, step int, n int64) {
		r.count(names[series], p.begin.Add(time.Duration(step)*p.step), from, field, n)
	})
}

// count adds to the point of a time.
func (r *historyReader) count(name string, at, from time.Time, field int, n int64) {
	if !at.Before(from) && !at.Before(r.q.From) {
		r.all.add(name, int(at.Sub(r.q.From)/r.step), field, n)
	}
}

// tail reads what no block has yet.
func (r *historyReader) tail(ctx context.Context, from time.Time) error {
	from = limiter.Later(from, r.now.Add(-tenantKept)).Truncate(tierFine.step)
	to := limiter.Earlier(r.q.To, r.now.Truncate(tierFine.step).Add(tierFine.step)) // with what is counted now
	n := int((to.Sub(from) + tierFine.step - 1) / tierFine.step)
	if n <= 0 || r.only {
		return nil
	}
	raw := newDetailReader(r.rdb, r.scope)
	read := raw.fineUse
	if r.view.ofTenants() {
		read = raw.fine
	}
	d, err := read(ctx, from, n)
	if err != nil {
		return err
	}
	b := d.view(r.view)
	for series, cols := range b.series {
		name, ok := r.group(series)
		for field, ns := range cols {
			for step, x := range ns {
				if ok {
					r.count(name, from.Add(time.Duration(step)*b.step), from, field, x)
				}
			}
		}
	}
	r.known = limiter.Earlier(to, r.now)
	r.found = append(r.found, Interval{from, to})
	return nil
}
