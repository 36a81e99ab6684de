package gemini

import (
	"context"
	"errors"
	"math"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// Texts adds up the texts of many calls, for a forecast of them all. The zero
// value is empty.
type Texts struct {
	Calls int64
	sum   textCount
	media int64 // tokens of pictures and the like
}

// Add takes the texts of one call and gives about how many tokens they have,
// rather too many than too few.
func (x *Texts) Add(texts ...string) int64 {
	var call int64
	for _, s := range texts {
		var t textCount
		for _, r := range s {
			t.rune(r)
		}
		t.endWord()
		call += t.most()
		x.sum.add(t)
	}
	x.Calls++
	return call
}

// AddMedia takes what goes along with the texts of a call that were added: pictures,
// sound, film, pages.
func (x *Texts) AddMedia(tokens int64) { x.media += tokens }

// Tokens is about how many tokens all have by the rules: not less than low, hardly
// more than high. Of media half is sure, as in an Estimate.
func (x *Texts) Tokens() (low, high int64) { return x.sum.least() + x.media/2, x.sum.most() + x.media }

// shape is that of the mean call.
func (x *Texts) shape() shape {
	n := 100 * float64(max(x.Calls, 1))
	return shape{
		words: float64(x.sum.words) / n, signs: float64(x.sum.signs)/n + overhead,
		han: float64(x.sum.han) / n, foreign: float64(x.sum.foreign) / n,
		media: 100 * float64(x.media) / n,
	}
}

// Taught is what the calls of a lane and feature taught (see Learning), for a
// forecast of more of them.
type Taught struct {
	Calls int64 // that it comes from, as far as they are not forgotten
	from  *lesson
}

// ReadTaught gives what is shared over Redis; nil while too little is known.
func ReadTaught(ctx context.Context, rdb redis.UniversalClient, lane limiter.Lane, feature string) (*Taught, error) {
	text, err := rdb.HGet(ctx, newLearnKeys(lane.Scope()).root, pairKey{lane, feature}.field()).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := unpackLesson(text)
	if err != nil || !l.ready() || !l.outputsReady() {
		return nil, err
	}
	return &Taught{Calls: int64(math.Round(l.outs.weight())), from: l}, nil
}

// leastDoubt is how far the sum of many estimates may be off, however much was
// learned: what comes is never quite like what came.
const leastDoubt = 0.02

// Input is about how many input tokens the provider counts for all of the texts. What
// calls of quite another length taught is no more than half of a guess: then the rules
// have a say too, and the range is that of both.
func (t *Taught) Input(x Texts) (low, mid, high int64) {
	at, s := t.from.fit.solve(), x.shape()
	doubt := max(leastDoubt, 2*at.spread/math.Sqrt(max(1, t.from.fit.weight)))
	all := max(at.ratio(s)*s.scale(), ratioLow*s.tokens()) * float64(x.Calls)
	low, mid, high = int64(all*(1-doubt)), int64(all), int64(math.Ceil(all*(1+doubt)))
	if t.from.fit.unlike(s) {
		least, most := x.Tokens()
		low, mid, high = min(low, least), (mid+(least+most)/2)/2, max(high, most)
	}
	return low, mid, high
}

// otherPrompts is how far the mean answer to one prompt may be from that to another of
// the same feature: nothing is known of what the new one asks for.
const otherPrompts = 2

// Output is about how many output tokens an answer has: the mean, between that of
// the shortest quarter of answers and what three in four do not exceed, and not nearer
// than half and twice the mean, since other prompts taught it.
func (t *Taught) Output() (low, mid, high float64) {
	mean := t.from.outs.mean()
	low = min(float64(t.from.outs.quantile(0.25)), mean/otherPrompts)
	return low, mean, max(float64(t.from.outs.quantile(0.75)), mean*otherPrompts)
}

// mean is that of the sizes; a bucket counts by its middle.
func (o outputs) mean() float64 {
	var sum float64
	for b, w := range o {
		if b > 0 {
			sum += w * float64(outputEnd(b-1)+1+outputEnd(b)) / 2
		}
	}
	return sum / max(o.weight(), 1e-9)
}
