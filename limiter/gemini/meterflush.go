package gemini

import (
	"context"
	_ "embed"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/meter.lua
var meterLua string

var meterScript = redis.NewScript(meterLua)

// parcelRows bounds one script to some 2 ms of Redis's time.
const parcelRows = 25

// parcel is what one script takes. It goes again, unchanged and under the same
// number, until Redis has acknowledged it: so nothing is counted twice when only
// the answer was lost.
type parcel struct {
	seq        int64
	cells      []cell
	rejections []Rejection
	money      []moneyRow
	use        []useRow
}

type cell struct {
	at   time.Time // of opts.Now
	kind cellKind
	key  usageKey
	*UsageSample
}

// take gives the next parcel; nil when there is nothing to send. The parcel of a
// mere sign of life has the last one's number, so that nothing is applied.
func (m *Meter) take(alive bool) *parcel {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &parcel{seq: m.seq}
	for k, c := range m.cells {
		if len(p.cells) == parcelRows {
			break
		}
		p.cells = append(p.cells, cell{time.Unix(k.second, 0), k.kind, k.usageKey, c})
		delete(m.cells, k)
	}
	for k, r := range m.rejections {
		if len(p.rejections) == parcelRows {
			break
		}
		p.rejections = append(p.rejections, *r)
		delete(m.rejections, k)
	}
	p.money, p.use = m.takeMoney(), m.takeUse()
	if len(p.cells)+len(p.rejections)+len(p.money)+len(p.use) == 0 {
		if !alive {
			return nil
		}
		return p
	}
	m.seq++
	p.seq = m.seq
	return p
}

func (m *Meter) send(p *parcel) error {
	ctx, cancel := context.WithTimeout(context.Background(), m.opts.Timeout)
	defer cancel()
	return meterScript.Run(ctx, m.rdb, []string{m.keys.root, m.keys.rejections}, m.args(p)...).Err()
}

func (m *Meter) args(p *parcel) []any {
	clock := ""
	if m.opts.redisNow != nil {
		clock = strconv.FormatInt(m.opts.redisNow().UnixMilli(), 10)
	}
	args := []any{clock, m.process, p.seq, stepsArg(), len(p.cells), len(p.rejections), len(p.money), moneyKept.Milliseconds(),
		len(p.use), moneyKept.Milliseconds(), useHoursKept.Milliseconds()}
	for _, c := range p.cells {
		other := usageKey{c.key.lane, c.key.class, OtherFeature}
		args = append(args, m.age(c.at), string(c.kind), c.key.field(), other.field(), c.pack())
	}
	for _, r := range p.rejections {
		text, _ := json.Marshal(r) // plain strings and integers always can be written
		args = append(args, m.age(r.At), string(text))
	}
	for _, x := range p.money {
		args = append(args, x.key.day, x.key.field(), x.key.other().field(), x.pack())
	}
	for _, x := range p.use {
		utc, hour, _ := strings.Cut(x.key.hour, "T")
		args = append(args, x.key.day, utc, hour, x.key.tenant, x.key.field(), x.key.other().field(), x.pack())
	}
	return args
}

// age is how long ago something was, in ms: Redis takes it off its own clock.
func (m *Meter) age(at time.Time) int64 { return max(0, m.opts.Now().Sub(at).Milliseconds()) }

// rejectionKey is what is merged within a second.
type rejectionKey struct {
	second       int64
	lane, limit  string
	value        int64
	class, label string
}

// rejectionsPending bounds what waits for a flush.
const rejectionsPending = 100

// noteRejection keeps what the provider refused although we had room for it.
// What the limiter would have refused itself is no evidence of others.
func (m *Meter) noteRejection(r Record, key usageKey, now time.Time) {
	if !r.Sent || r.Lane == "" || r.Direct || r.Over != "" || !refusedThere(r) {
		return
	}
	k := rejectionKey{now.Unix(), r.Lane, r.Reason, r.QuotaValue, key.class, key.feature}
	e, ok := m.rejections[k]
	if !ok {
		if len(m.rejections) >= rejectionsPending {
			m.dropOldestRejection()
		}
		e = &Rejection{At: now, Lane: r.Lane, Limit: r.Reason, QuotaValue: r.QuotaValue, Class: key.class, Feature: key.feature}
		m.rejections[k] = e
	}
	e.Trace, e.N = label(r.TraceID, 64), e.N+1
}

func (m *Meter) dropOldestRejection() {
	var oldest rejectionKey
	for k := range m.rejections {
		if oldest.lane == "" || k.second < oldest.second {
			oldest = k
		}
	}
	delete(m.rejections, oldest)
}
