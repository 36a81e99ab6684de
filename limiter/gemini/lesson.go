package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
)

// lesson is what the calls of one lane and feature have taught. Lessons of
// several processes are added up.
type lesson struct {
	calls float64 // that were learned from, none forgotten
	lift  float64 // deviations above startLift
	fit   fit
	outs  outputs
}

// An estimate stays lift deviations above what the fit says. Each call that had
// more moves it up, each other one down, so that in the long run the part
// underRate is under-estimated, whatever the spread looks like.
const (
	startLift = 1.81 // 3.5 % of a normal spread are above
	leastLift = 0.5
	mostLift  = 4.0
	liftStep  = 0.1
	underRate = 0.035

	learnAfter = 20 // calls before what was learned is used
)

func newLesson() *lesson { return &lesson{outs: outputs{}} }

func (l *lesson) ready() bool { return l.calls >= learnAfter }

func (l *lesson) outputsReady() bool { return l.outs.weight() >= learnAfter*0.9 } // some have faded

func (l *lesson) copy() *lesson {
	c := *l
	c.outs = maps.Clone(l.outs)
	return &c
}

// input estimates the input of a request.
func (l *lesson) input(at line, s shape) int64 {
	ratio := at.ratio(s) + min(max(startLift+l.lift, leastLift), mostLift)*at.spread
	return int64(math.Ceil(min(max(ratio*s.scale(), ratioLow*s.tokens()), ratioHigh*s.scale())))
}

// learn takes a call's real input, and the output of each of its candidates; a
// negative output is not known. It gives how far the lift moved.
func (l *lesson) learn(s shape, input, output int64) (moved float64) {
	if l.ready() {
		moved = l.move(input > l.input(l.fit.solve(), s))
	}
	l.take(s, input, output)
	return moved
}

func (l *lesson) take(s shape, input, output int64) {
	l.calls++
	l.fit.add(s, min(float64(input)/s.scale(), 2*ratioHigh))
	if output >= 0 {
		l.outs.fade(fitForget)
		l.outs[outputBucket(output)]++
	}
}

func (l *lesson) move(under bool) float64 {
	step := -liftStep * underRate
	if under {
		step += liftStep
	}
	to := min(max(l.lift+step, leastLift-startLift), mostLift-startLift)
	step, l.lift = to-l.lift, to
	return step
}

// follow puts behind this lesson what more calls taught.
func (l *lesson) follow(more *lesson) {
	by := math.Pow(fitForget, more.calls)
	l.calls += more.calls
	l.lift += more.lift
	l.fit.fade(by)
	l.fit.merge(more.fit)
	l.outs.fade(by)
	l.outs.merge(more.outs)
}

// lessonUnit is what 1 is stored as: scripts keep integers.
const lessonUnit = 1_000_000

// lessonHead are the numbers before the outputs: lua/learn.lua knows the first
// two from the rest, which fade.
const lessonHead = 4 + fitCross + fitParts

func (l *lesson) sums() []*float64 {
	out := []*float64{&l.calls, &l.lift, &l.fit.weight, &l.fit.square}
	for i := range l.fit.cross {
		out = append(out, &l.fit.cross[i])
	}
	for i := range l.fit.real {
		out = append(out, &l.fit.real[i])
	}
	return out
}

// pack writes a lesson as lua/learn.lua adds them up: calls, lift, the sums of
// the fit, then for each bucket of outputs the bucket and its weight.
func (l *lesson) pack() string {
	out := make([]int64, 0, lessonHead+2*len(l.outs))
	for _, v := range l.sums() {
		out = append(out, fixedPoint(*v))
	}
	for b, w := range l.outs {
		out = append(out, b, fixedPoint(w))
	}
	text, _ := json.Marshal(out) // integers always can be written
	return string(text)
}

func fixedPoint(v float64) int64 { return int64(math.Round(v * lessonUnit)) }

func unpackLesson(text string) (*lesson, error) {
	var in []int64
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, err
	}
	if len(in) < lessonHead {
		return nil, fmt.Errorf("%d numbers, want at least %d", len(in), lessonHead)
	}
	l := newLesson()
	for i, v := range l.sums() {
		*v = float64(in[i]) / lessonUnit
	}
	for in = in[lessonHead:]; len(in) > 1; in = in[2:] {
		l.outs[in[0]] = float64(in[1]) / lessonUnit
	}
	return l, nil
}
