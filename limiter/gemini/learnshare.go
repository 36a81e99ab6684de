package gemini

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/learn.lua
var learnLua string

var learnScript = redis.NewScript(learnLua)

// Keys of what is learned, under the hash tag of the limiter's scope.
//
//	…:learned       hash: region/model|feature → lesson
//	…:learned:last  sorted set of the same names by their last change
type learnKeys struct{ root, last string }

func newLearnKeys(s limiter.Scope) learnKeys {
	root := "nightshift:{limiter:" + s.String() + "}:learned"
	return learnKeys{root: root, last: root + ":last"}
}

func (k pairKey) field() string {
	return label(laneKey(k.lane.String()), 200) + "|" + label(k.feature, 64)
}

// parsePair reads a field of a scope; one that is not ours is not ok.
func parsePair(s limiter.Scope, field string) (k pairKey, ok bool) {
	lane, feature, ok := strings.Cut(field, "|")
	region, model, ok2 := strings.Cut(lane, "/")
	return pairKey{limiter.Lane{Provider: s.Provider, Project: s.Project, Region: region, Model: model}, feature}, ok && ok2
}

const (
	learnParcel = 50                  // pairs of one script, some 2 ms of Redis's time
	learnKept   = 30 * 24 * time.Hour // without a call
)

// run is the exchange. A process begins with what all others have learned.
func (l *Learning) run() {
	defer close(l.done)
	l.load()
	close(l.ready)
	tick := time.NewTicker(l.opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			l.exchange()
			return
		case <-tick.C:
			l.exchange()
		}
	}
}

// Close hands over what was learned last and ends the exchange. What cannot be
// handed over is lost, which is no harm.
func (l *Learning) Close() {
	l.once.Do(func() { close(l.stop) })
	<-l.done
}

// load takes the pairs of the latest calls, and leaves room for as many others.
func (l *Learning) load() {
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	fields, err := l.rdb.ZRevRange(ctx, l.keys.last, 0, int64(l.opts.Pairs/2)-1).Result()
	if err != nil || len(fields) == 0 {
		l.complain(err)
		return
	}
	texts, err := l.rdb.HMGet(ctx, l.keys.root, fields...).Result()
	l.complain(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, text := range texts {
		k, ok := parsePair(l.scope, fields[i])
		if text, there := text.(string); ok && there {
			l.adopt(l.pair(k), text)
		}
	}
}

// adopt puts what this process learned meanwhile behind what all know. When that
// is little, Redis has lost it: then this process teaches all that it knows.
func (l *Learning) adopt(p *learned, text string) {
	p.ask = false
	if text == "" {
		return
	}
	known, err := unpackLesson(text)
	switch {
	case err != nil:
		l.complain(fmt.Errorf("a stored lesson is unreadable: %w", err))
	case known.calls < p.known.calls/2:
		p.fresh = p.known.copy()
	default:
		known.follow(p.fresh)
		p.known = known
	}
}

// exchange sends what is fresh and takes what all know, until nothing is left or
// Redis does not answer.
func (l *Learning) exchange() {
	for {
		sent := l.fresh()
		if len(sent) == 0 {
			return
		}
		if err := l.send(sent); err != nil {
			l.complain(err)
			return
		}
	}
}

type parcelPair struct {
	key    pairKey
	lesson *lesson
}

// fresh takes the next pairs that Redis has not heard of.
func (l *Learning) fresh() (out []parcelPair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, p := range l.pairs {
		if len(out) == learnParcel {
			break
		}
		if p.ask || p.fresh.calls > 0 {
			out = append(out, parcelPair{k, p.fresh})
			p.fresh, p.ask = newLesson(), false
		}
	}
	return out
}

func (l *Learning) send(sent []parcelPair) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	got, err := learnScript.Run(ctx, l.rdb, []string{l.keys.root, l.keys.last}, l.args(sent)...).StringSlice()
	if err == nil && len(got) != len(sent) {
		err = fmt.Errorf("%d answers for %d pairs", len(got), len(sent))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range sent {
		switch p := l.pairs[s.key]; {
		case p == nil: // dropped meanwhile
		case err != nil:
			s.lesson.follow(p.fresh) // it goes again; learned twice is no harm
			p.fresh, p.ask = s.lesson, true
		default:
			l.adopt(p, got[i])
		}
	}
	return err
}

func (l *Learning) args(sent []parcelPair) []any {
	clock := ""
	if l.opts.redisNow != nil {
		clock = strconv.FormatInt(l.opts.redisNow().UnixMilli(), 10)
	}
	args := []any{clock, l.opts.Pairs, learnKept.Milliseconds(), lessonHead, len(sent)}
	for _, s := range sent {
		text := ""
		if s.lesson.calls > 0 {
			text = s.lesson.pack()
		}
		args = append(args, s.key.field(), fixedPoint(math.Pow(fitForget, s.lesson.calls)), text)
	}
	return args
}

func (l *Learning) complain(err error) {
	if err == nil {
		return
	}
	if n, due := l.trouble.note(l.opts.Now()); due {
		l.opts.Logger.Warn("what calls teach cannot be shared over Redis now", "times", n, "error", err)
	}
}
