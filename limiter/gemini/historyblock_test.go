package gemini

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestBlockIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := newBlock(meterNoon, 10*time.Second, 30)
	b.until = meterNoon.Add(time.Minute)
	b.add("global/x|bulk|größe", 0, 3, 7)
	b.add("global/x|bulk|größe", 29, fieldTallies+4001, 1<<40)
	b.add("global/x|bulk|", 12, 3, -5)
	b.add("global/x|bulk|", 30, 3, 1) // after its end: passed over
	p, err := openBlock(b.pack())
	if err != nil || !p.begin.Equal(meterNoon) || !p.until.Equal(b.until) || p.n != 30 || p.step != 10*time.Second {
		t.Fatalf("%+v, %v", p.block, err)
	}
	if got := seriesOf(t, p); !reflect.DeepEqual(got, b.series) {
		t.Errorf("got %v, want %v", got, b.series)
	}
}

// TestBlockOfAnOlderProgram: one whose numbers are varints is read as long as it is kept.
func TestBlockOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	text, err := base64.StdEncoding.DecodeString("AoCgq/75YqCcAcC6t/75YhQotS/9BADpAQASZ2xvYmFsL218YnVsa3x0YWdzEwAAAQAGAQENAAACgIkPAQAAAgkOZ2xvYmFsL218Y2hhdHwG7wcAEAACYoJx4A==")
	if err != nil {
		t.Fatal(err)
	}
	want := newBlock(time.UnixMilli(1_700_000_000_000), 10*time.Second, 10)
	want.add("global/m|bulk|tags", 0, 0, 3)
	want.add("global/m|bulk|tags", 0, 1, 3)
	want.add("global/m|bulk|tags", 9, 14, 123456)
	want.add("global/m|bulk|tags", 9, 15, -5)
	want.add("global/m|chat|", 4, fieldLatency+7, 1)
	p, err := openBlock(text)
	if err != nil || !p.begin.Equal(want.begin) {
		t.Fatalf("%+v, %v", p.block, err)
	}
	if got := seriesOf(t, p); !reflect.DeepEqual(got, want.series) {
		t.Errorf("got %v, want %v", got, want.series)
	}
}

// TestBlockOfAnyNumbers: whatever is in the columns comes back.
func TestBlockOfAnyNumbers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := newBlock(meterNoon, 10*time.Second, 1+rng.IntN(40))
		for range rng.IntN(30) {
			name, field, most := fmt.Sprint(rng.IntN(3)), rng.IntN(12), int64(1)<<rng.IntN(63)
			for step := range b.n {
				n := rng.Int64N(most)
				if rng.IntN(8) == 0 {
					n = -n
				}
				b.add(name, step, field, n*int64(rng.IntN(2)))
			}
			if cols := b.series[name]; cols[3] != nil && cols[4] != nil && rng.IntN(2) == 0 {
				cols[5] = sums(cols[3], cols[4])
			}
		}
		for _, text := range [][]byte{b.pack(), b.packFinal()} {
			p, err := openBlock(text)
			if err != nil {
				t.Fatal(err)
			}
			got := newBlock(b.begin, b.step, b.n)
			got.series = seriesOf(t, p)
			if got, want := numbers(got), numbers(b); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
}

func seriesOf(t *testing.T, p packedBlock) map[string]columns {
	t.Helper()
	got := newBlock(p.begin, p.step, p.n)
	if err := p.each(func(string) bool { return true }, func(s string, f, step int, n int64) { got.add(s, step, f, n) }); err != nil {
		t.Fatal(err)
	}
	return got.series
}

// TestBlockThatIsCutIsNoBlock: at whatever byte, it is an error and no panic.
func TestBlockThatIsCutIsNoBlock(t *testing.T) {
	t.Parallel()
	b := newBlock(meterNoon, time.Minute, 60)
	for i := range 20 {
		b.add(fmt.Sprintf("lane|bulk|f%d", i), i, i, int64(i+1))
	}
	text := b.pack()
	for n := range len(text) {
		p, err := openBlock(text[:n])
		if err == nil {
			err = p.each(func(string) bool { return true }, func(string, int, int, int64) {})
		}
		if err == nil && n > 0 && len(p.body) > 0 {
			t.Fatalf("%d of %d bytes are a block", n, len(text))
		}
	}
	text[0] = blockVersion + 1
	if _, err := openBlock(text); !errors.Is(err, errBlock) {
		t.Errorf("a newer version: %v", err)
	}
}

// TestColumnsKeepSamples: all that a sample has comes back.
func TestColumnsKeepSamples(t *testing.T) {
	t.Parallel()
	var want UsageSample
	for i, n := range want.counters() {
		*n = int64(i + 1)
	}
	want.Latency.Add(3 * time.Second)
	want.FirstToken.Add(time.Hour)
	want.Waited.Add(0)
	want.tally(tallyRefused+205, 3)
	want.tally(tallyWaited+1, 900)
	b := newBlock(meterNoon, time.Minute, 1)
	want.each(true, func(field int, n int64) { b.add("s", 0, field, n) })
	var got UsageSample
	if got.fill(b.series["s"], 0); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestDetailIsBounded: 10,000 names are as many series as there is room for, and
// nothing of their sum is lost.
func TestDetailIsBounded(t *testing.T) {
	t.Parallel()
	d := newDetail(meterNoon, 10*time.Second, 1)
	for i := range 10_000 {
		d.use.add(fmt.Sprintf("global/x|bulk|f%d", i), 0, fieldRequests, int64(1+i%7))
		d.tenants.add(fmt.Sprintf("global/x|bulk|t%d", i), 0, fieldRequests, int64(1+i%7))
	}
	want, _ := d.use.whole()
	for view, b := range d.views() {
		got, _ := b.whole()
		most := map[historyView]int{viewUse: mostUse, viewTenants: mostTenants, viewUsers: mostUsers}[view]
		if most == 0 {
			most = largest
		}
		if got != want || len(b.series) > most+1 {
			t.Errorf("%s: %d of %d in %d series", view, got, want, len(b.series))
		}
	}
}
