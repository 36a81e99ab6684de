package limiter

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// auto configures a lane that lends "auto", with a day's limit too.
func (b *bench) auto(change ...func(*Config)) {
	b.Helper()
	c := Config{Scope: b.scope, Classes: classes, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000, OutputTPM: 10_000, RPD: 50_000}, Lend: "auto"}}}
	for _, f := range change {
		f(&c)
	}
	b.must(b.Configure(b.Context(), c))
}

// learn sets floors of interactive for ten minutes; they count at once.
func (b *bench) learn(floors ...Floor) {
	b.Helper()
	for i := range floors {
		floors[i].Class = "interactive"
	}
	b.must(b.SetFloors(b.Context(), b.lane, floors, b.now.Add(10*time.Minute)))
}

// floorIs checks what is kept for interactive of a limit, and what is said of it.
func (b *bench) floorIs(name string, amount int64, why string) {
	b.Helper()
	for _, l := range b.state().Limits {
		if c := l.Classes[0]; l.Name == name && (c.Floor != amount || c.Protected != amount || c.Why != why) {
			b.Errorf("%s: floor %d, protected %d, %q; want %d, %q", name, c.Floor, c.Protected, c.Why, amount, why)
		}
	}
}

const unlearned = "floor 10 % until a week of interactive traffic is known"

// What was learned takes the place of the assumed floor, between 2 % and the
// guarantee, as long as it is renewed.
func TestLearnedFloor(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto()
		b.floorIs("rpm", 100, unlearned)
		b.learn(Floor{Amount: 240, Why: "Mon 09:00 learned\nneed 240 rpm"})
		b.floorIs("rpm", 240, "floor 24 %: Mon 09:00 learned need 240 rpm")
		b.floorIs("output_tpm", 1000, unlearned)
		b.learn(Floor{Amount: 5, Why: "Mon 03:00 was always quiet"}, Floor{Unit: OutputTokens, Amount: 9999, Why: "much"})
		b.floorIs("rpm", 20, "floor 2 %: Mon 03:00 was always quiet")
		b.floorIs("output_tpm", 3000, "floor 30 %: much")

		q := b.request("bulk", Amounts{981})
		b.refused(q, ReasonTooLarge)
		b.granted(b.request("bulk", Amounts{900}))
		b.wait(10*time.Minute - time.Millisecond)
		b.floorIs("rpm", 20, "floor 2 %: Mon 03:00 was always quiet")
		b.wait(time.Millisecond)
		b.floorIs("rpm", 100, "floor 10 %: what was learned ended at 2026-11-29T12:10:00Z, no scheduler renews it")
		b.learn()
		b.floorIs("rpm", 100, unlearned)
	})
}

// Nothing is refused for good because of an hour: not by a larger floor, and what
// is too large stays so with a smaller one.
func TestLearnedFloorRefusesNothingForGood(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto()
		b.learn(Floor{Amount: 240})
		b.refused(b.request("bulk", Amounts{761}), ReasonShare)
		b.learn(Floor{Amount: 1})
		b.refused(b.request("bulk", Amounts{901}), ReasonTooLarge)
	})
}

// A day's limit is shared by what was used and will be needed: bulk leaves that,
// and no more. Its trickle is its own in a day too, and no pace is kept there.
func TestLearnedDay(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto(func(c *Config) { c.Lanes[0].Limits = Limits{RPD: 50_000} })
		b.floorIs("rpd", 5000, unlearned)
		b.learn(Floor{Window: Day, Amount: 12_000, Why: "2000 used"})
		b.floorIs("rpd", 12_000, "floor 24 %: 2000 used")
		b.granted(b.request("bulk", Amounts{20_000}))
		b.granted(b.request("bulk", Amounts{18_000})) // in the same moment
		d := b.refused(b.request("bulk", Amounts{1}), ReasonShare)
		if d.Limiter != "rpd" || d.Shortage != 1 {
			t.Errorf("%+v", d)
		}
		b.granted(b.request("interactive", Amounts{12_000}))
		b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		b.set(noon.Add(20*time.Hour + time.Second)) // the next Pacific day
		b.granted(b.request("bulk", Amounts{45_000}))
	})
}

func TestTrickleOfADay(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto(func(c *Config) {
			c.Lanes[0].Limits = Limits{RPD: 1000}
			c.Classes = []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk", Smooth: true, Tickets: true, TricklePPM: 50_000}}
		})
		b.learn(Floor{Window: Day, Amount: 300})
		b.refused(b.request("interactive", Amounts{951}), ReasonTooLarge)
		b.granted(b.request("interactive", Amounts{950}))
		b.refused(b.request("interactive", Amounts{1}), ReasonShare)
		b.granted(b.request("bulk", Amounts{50}))
		b.refused(b.request("bulk", Amounts{1}), ReasonQuota)
	})
}

// What an operator decides holds over what was learned, at once.
func TestLearnedFloorsFollowTheConfiguration(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto()
		b.learn(Floor{Amount: 240, Why: "much"}, Floor{Window: Day, Amount: 6000, Why: "some"})
		b.auto(func(c *Config) {
			c.Lanes[0].Limits = Limits{RPD: 40_000, IPM: 7, RPM: 2000}
			c.Classes = append([]Class{{Name: "first", GuaranteePPM: 100_000}}, classes...)
			c.Classes[1].GuaranteePPM = 110_000
		})
		b.wait(500 * time.Millisecond)
		for _, l := range b.state().Limits {
			if want, ok := map[string]int64{"rpm": 220, "rpd": 4400}[l.Name]; ok && l.Classes[1].Floor != want {
				b.Errorf("%s: floor %d beside another class and limit; want %d, the smaller guarantee", l.Name, l.Classes[1].Floor, want)
			}
		}
		for lend, floor := range map[string]int64{"now": 20, "never": 300, "auto": 240} {
			b.auto(func(c *Config) { c.Lanes[0].Lend = lend })
			if got := b.state().Limits[0].Classes[0].Floor; got != floor {
				b.Errorf("lend %s: floor %d; want %d", lend, got, floor)
			}
		}
		b.learn(Floor{Amount: 5, Why: "quiet"})
		b.auto(func(c *Config) {
			c.Classes = []Class{{Name: "interactive", GuaranteePPM: 300_000, FloorPPM: 50_000}, classes[1]}
		})
		b.floorIs("rpm", 50, "its own floor 5 %")
	})
}

func TestFloorsAreChecked(t *testing.T) {
	onEach(t, func(b *bench) {
		b.auto()
		for field, f := range map[string][]Floor{
			"floors[ rpm].class":                        {{}},
			"floors[a unit(8)/minute].unit":             {{Class: "a", Unit: NumUnits}},
			"floors[a requests/window(6)].window":       {{Class: "a", Window: NumWindows}},
			"floors[interactive rpm].amount":            {{Class: "interactive", Amount: -1}},
			"floors[interactive input_tpm].class":       {{Class: "interactive", Unit: InputTokens}, {Class: "interactive", Unit: InputTokens}},
			"floors[interactive micro_usd/held].amount": {{Class: "interactive", Unit: MicroUSD, Window: Held, Amount: maxAmount + 1}},
		} {
			var wrong *ConfigError
			if err := b.SetFloors(b.Context(), b.lane, f, b.now); !errors.As(err, &wrong) || wrong.Field != field {
				b.Errorf("error %v; want one about %s", err, field)
			}
		}
		if err := b.SetFloors(b.Context(), b.lane, []Floor{{Class: "a"}}, time.Time{}); err == nil || !strings.HasPrefix(err.Error(), "until") {
			b.Errorf("error %v; want one about until", err)
		}
		other := b.lane
		other.Model = "other"
		if err := b.SetFloors(b.Context(), other, nil, b.now); !errors.Is(err, ErrUnknownLane) {
			b.Errorf("a lane without limits: %v", err)
		}
		b.learn(Floor{Unit: Images, Amount: 3}, Floor{Amount: 50}) // no such limit: passed over
		if got := b.state().Limits[0].Classes[0].Floor; got != 50 {
			b.Errorf("floor %d", got)
		}
	})
}
