package gemini

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"nightshift/limiter"
)

// useHoursKept is how long the hours of a tenant are there after their last call. Its
// days are kept as long as money is.
const useHoursKept = 8 * 24 * time.Hour

// UseCounts is what calls on somebody's behalf used and met.
type UseCounts struct {
	Calls        int64 `json:"calls"`         // that were sent
	Requests     int64 `json:"requests"`      // as the quota counts them: each text of a batch is one
	InputTokens  int64 `json:"input_tokens"`  //
	OutputTokens int64 `json:"output_tokens"` //
	MicroUSD     int64 `json:"micro_usd"`     // by the price book, else as settled
	Refused      int64 `json:"refused"`       // not sent: by us, for want of room or time, or a pause
	Provider429  int64 `json:"provider_429"`  // of Calls: refused by the provider for quota or capacity
	OwnLimit     int64 `json:"own_limit"`     // not sent, and not of Refused: by a limit of the tenant's, team's, key's or feature's own, or to save money
}

// Add adds another's counts.
func (c *UseCounts) Add(o UseCounts) {
	more := o.list()
	for i, n := range c.list() {
		*n += *more[i]
	}
}

// list gives the counts in the order in which they are stored; new ones go to the end.
func (c *UseCounts) list() []*int64 {
	return []*int64{&c.Calls, &c.Requests, &c.InputTokens, &c.OutputTokens, &c.MicroUSD, &c.Refused, &c.Provider429, &c.OwnLimit}
}

// pack writes unsigned varints without the zeros at the end: a dozen bytes, of which
// Redis holds a few for each tenant, kind and hour.
func (c *UseCounts) pack() string {
	var text []byte
	size := 0
	for _, n := range c.list() {
		if text = binary.AppendUvarint(text, uint64(max(0, *n))); *n > 0 {
			size = len(text)
		}
	}
	return string(text[:size])
}

func (c *UseCounts) unpack(text string) error {
	rest := []byte(text)
	for _, n := range c.list() {
		if len(rest) == 0 {
			return nil
		}
		u, size := binary.Uvarint(rest)
		if size <= 0 || u > math.MaxInt64 {
			return fmt.Errorf("%q is no list of numbers", text)
		}
		*n, rest = int64(u), rest[size:]
	}
	return nil
}

// useKey is whose use is counted together.
type useKey struct {
	day, hour                         string // 2026-11-30 in the zone of money, 2026-11-30T23 in UTC
	tenant, team, key, feature, model string
}

func (k useKey) field() string { return strings.Join([]string{k.team, k.key, k.feature, k.model}, "|") }

// other is the key that takes what cannot be told apart any more.
func (k useKey) other() useKey {
	k.team, k.key, k.feature, k.model = OtherFeature, OtherFeature, OtherFeature, OtherFeature
	return k
}

type useRow struct {
	key useKey
	*UseCounts
}

// noteUse counts a call for its tenant. One that was put back into a line comes again
// and is counted then.
func (m *Meter) noteUse(r Record, key usageKey) {
	c, counts := useOf(r)
	if r.Path.Tenant == "" || !counts {
		return
	}
	_, model, _ := strings.Cut(key.lane, "/")
	at := r.Held
	if at.IsZero() { // passed without a permit
		at = r.Time
	}
	if at.IsZero() {
		at = m.opts.Now()
	}
	k := useKey{
		day: at.In(m.opts.Zone).Format(time.DateOnly), hour: at.UTC().Format("2006-01-02T15"), tenant: label(r.Path.Tenant, 64),
		team: label(r.Path.Team, 64), key: label(r.Path.Key, 64), feature: key.feature, model: model,
	}
	if m.use[k] == nil && len(m.use) >= m.opts.Pending {
		k = k.other()
	}
	if m.use[k] == nil {
		m.use[k] = &UseCounts{}
	}
	m.use[k].Add(c)
}

// useOf is what one call counts; false for one that does not count.
func useOf(r Record) (c UseCounts, counts bool) {
	switch {
	case r.Sent:
		var s UsageSample
		s.countUse(r)
		c = UseCounts{Calls: 1, Requests: s.Requests, InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, MicroUSD: s.MicroUSD}
		if r.Verdict != "" && r.Status != http.StatusPaymentRequired && refusedThere(r) {
			c.Provider429 = 1
		}
	case r.Decision != limiter.Queued && refusedForNow(r):
		c.Refused = 1
		if r.ownLimit() {
			c.Refused, c.OwnLimit = 0, 1
		}
	default:
		return c, false
	}
	return c, true
}

// takeUse gives what goes with the next parcel.
func (m *Meter) takeUse() (out []useRow) {
	for k, c := range m.use {
		if len(out) == parcelRows {
			break
		}
		out = append(out, useRow{k, c})
		delete(m.use, k)
	}
	return out
}
