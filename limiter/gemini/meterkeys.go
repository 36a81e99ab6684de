package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"nightshift/limiter"
)

// Step is the width of the buckets that usage is counted in. A wider one is
// kept longer.
type Step uint8

// The steps.
const (
	Step5s     Step = iota // kept for 15 minutes: what health is judged by
	StepMinute             // kept for 50 hours: averages and peaks
	StepHour               // kept for 36 days: a week's profile, a month's report
)

// steps has each step's width and how long its buckets are kept after their end.
var steps = [...]struct{ width, kept time.Duration }{
	Step5s:     {5 * time.Second, 15 * time.Minute},
	StepMinute: {time.Minute, 50 * time.Hour},
	StepHour:   {time.Hour, 36 * 24 * time.Hour},
}

// Width is how long a bucket lasts.
func (s Step) Width() time.Duration { return steps[s].width }

// Kept is how long a bucket is there after its end.
func (s Step) Kept() time.Duration { return steps[s].kept }

// meterKeys builds the meter's keys in Redis. They carry the hash tag of the
// limiter's scope, so that one script writes all of a flush on a Cluster too.
//
//	…:meter                  hash: process → "sequence lastSeen"
//	…:meter:WIDTH:INDEX      hash of a bucket: region/model|class|feature → counts
//	…:meter:t:10000:INDEX    hash of a bucket: region/model|class|tenant → counts
//	…:meter:history…         what is made of them (historykeys.go)
//	…:meter:rejections       list of "atMS|Rejection as JSON", newest first
//	…:meter:money:DAY        hash: model|class|feature|tenant|run → [micro-dollars, calls, input, output tokens]
//	…:meter:use:DAY               hash: tenant → counts as UseCounts has them
//	…:meter:use:day:DAY:TENANT    hash: 24 × number of a name → counts
//	…:meter:use:hour:DAY:TENANT   hash: 24 × number of a name + hour → counts; day and hour are UTC's
//	…:meter:use:names:TENANT:MONTH hash: team|key|feature|model → number in the days of the month
type meterKeys struct{ root, rejections string }

func newMeterKeys(s limiter.Scope) meterKeys {
	return meterKeysAt("nightshift:{limiter:" + s.String() + "}:meter")
}

func meterKeysAt(root string) meterKeys {
	return meterKeys{root: root, rejections: root + ":rejections"}
}

func (k meterKeys) tenants(index int64) string {
	return fmt.Sprintf("%s:%s%d:%d", k.root, byTenant, tenantWidth.Milliseconds(), index)
}

func (k meterKeys) bucket(s Step, index int64) string {
	return fmt.Sprintf("%s:%d:%d", k.root, s.Width().Milliseconds(), index)
}

// What is counted by tenant is only needed until the history has taken it.
const (
	tenantWidth = 10 * time.Second
	tenantKept  = 15 * time.Minute
)

// cellKind tells by whom a count is told apart; it is part of its bucket's key.
type cellKind string

const (
	byFeature cellKind = ""
	byTenant  cellKind = "t:"
)

// How many names a bucket tells apart; the others are OtherFeature.
const fullFeatures, fullTenants = 1000, 2000

// stepsArg tells the script how many names a bucket of each kind tells apart, and
// every step's width and keeping time in ms.
func stepsArg() string {
	own := []int64{fullFeatures}
	for _, s := range steps {
		own = append(own, s.width.Milliseconds(), s.kept.Milliseconds())
	}
	text, _ := json.Marshal(map[cellKind][]int64{ // integers always can be written
		byFeature: own,
		byTenant:  {fullTenants, tenantWidth.Milliseconds(), tenantKept.Milliseconds()},
	})
	return string(text)
}

// usageKey is whose a count is.
type usageKey struct{ lane, class, feature string } // lane is region/model; feature is a tenant where it is told apart by that

func (k usageKey) field() string { return k.lane + "|" + k.class + "|" + k.feature }

// parseUsageKey reads a field; one that is not ours is not ok.
func parseUsageKey(field string) (usageKey, bool) {
	p := strings.Split(field, "|")
	if len(p) != 3 {
		return usageKey{}, false
	}
	return usageKey{p[0], p[1], p[2]}, true
}

// laneKey is a lane's name without what the whole scope shares.
func laneKey(lane string) string {
	p := strings.SplitN(lane, "/", 3)
	return p[len(p)-1]
}

// label makes a name fit to be part of a field: at most n bytes, printable, and
// without the separator.
func label(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '|' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(clipTo(s, n), "_"))
}

// clipTo cuts at most n bytes off the front, at a rune's border, without a mark.
func clipTo(s string, n int) string {
	return strings.TrimSuffix(clip(s, n), "…")
}

// The keys of tenants' use; a day is 2026-11-30.
func (k meterKeys) use(day string) string { return k.root + ":use:" + day }
func (k meterKeys) useDay(day, tenant string) string {
	return k.root + ":use:day:" + day + ":" + tenant
}
func (k meterKeys) useHours(day, tenant string) string {
	return k.root + ":use:hour:" + day + ":" + tenant
}
func (k meterKeys) useNames(day, tenant string) string {
	return k.root + ":use:names:" + tenant + ":" + day[:len("2026-11")]
}
