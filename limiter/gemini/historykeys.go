package gemini

import (
	"fmt"
	"time"

	"nightshift/limiter"
)

// The history's blocks. A block is all that was counted in a stretch of time, by
// series and step, packed (historyblock.go).
//
//	…:meter:history                  hash: TIER → index of its last block that will not change
//	…:meter:history:lock             who makes blocks now
//	…:meter:history:TIER:INDEX:VIEW  string: a block
type historyTier struct {
	name        string
	step, block time.Duration
	kept        time.Duration // after the block's end
	settles     time.Duration // after its end a block is final: what comes later is not in it
}

var (
	tierFine   = historyTier{"10s", 10 * time.Second, 5 * time.Minute, 48*time.Hour + 10*time.Minute, 8 * time.Minute}
	tierCoarse = historyTier{"5m", 5 * time.Minute, time.Hour, 7*24*time.Hour + 2*time.Hour, 10 * time.Minute}
	// The meter's own buckets of minutes and hours, packed when hardly anything comes
	// late any more: a tenth of their room in Redis.
	tierMinute = historyTier{"1m", time.Minute, time.Hour, steps[StepMinute].kept, 15 * time.Minute}
	tierHour   = historyTier{"1h", time.Hour, 6 * time.Hour, steps[StepHour].kept, time.Hour}
)

func (t historyTier) steps() int               { return int(t.block / t.step) }
func (t historyTier) index(at time.Time) int64 { return at.UnixMilli() / t.block.Milliseconds() }
func (t historyTier) begin(index int64) time.Time {
	return time.UnixMilli(index * t.block.Milliseconds())
}

// fineDetail is how long steps of ten seconds are told apart by single tenants and by
// feature with model: later only the largest of each are, and all of them in steps of
// five minutes. It is nine tenths of the bytes.
const fineDetail = 6 * time.Hour

// usersKept is how long minutes of viewUsers are kept: a ranking of the last day. One of an older stretch adds lanes up from the meter's minutes.
const usersKept = 26 * time.Hour

// keeps is how long a view of a tier is kept after a block's end.
func (t historyTier) keeps(v historyView) time.Duration {
	if t.name == tierMinute.name && v == viewUsers {
		return usersKept
	}
	if t.name == tierFine.name && (v == viewUse || v == viewTenants || v == viewUsers) {
		return fineDetail // a ranking reads older minutes from tierMinute
	}
	return t.kept
}
func (t historyTier) final(index int64, now time.Time) bool {
	return !now.Before(t.begin(index + 1).Add(t.settles))
}

// historyView is by what a block's series are told apart: the name of a series is
// these joined by "|".
type historyView string

const (
	viewClass   historyView = "class"   // class
	viewLane    historyView = "lane"    // region/model|class, of the largest lanes
	viewFeature historyView = "feature" // feature|class, of the largest features
	viewTenant  historyView = "tenant"  // tenant|class, of the largest tenants
	viewUse     historyView = "use"     // region/model|class|feature
	viewTenants historyView = "tenants" // region/model|class|tenant
	viewLevels  historyView = "levels"  // region/model|class|limit
	viewUsers   historyView = "users"   // |class|feature, in steps of a minute, with durations
	viewLimits  historyView = "limits"  // |class|limit: those of viewLevels that are of all lanes together
)

// Bounds of a block. What is beyond them is counted as OtherFeature.
const (
	largest     = 20   // names of viewLane, viewFeature, viewTenant
	mostUse     = 1000 // series of viewUse
	mostTenants = 1500 // of viewTenants
	mostUsers   = 1000 // of viewUsers: as many features as a bucket of the meter tells apart
)

type historyKeys struct{ root string }

func newHistoryKeys(s limiter.Scope) historyKeys {
	return historyKeys{newMeterKeys(s).root + ":history"}
}

func (k historyKeys) lock() string { return k.root + ":lock" }

func (k historyKeys) block(t historyTier, index int64, v historyView) string {
	return fmt.Sprintf("%s:%s:%d:%s", k.root, t.name, index, v)
}
