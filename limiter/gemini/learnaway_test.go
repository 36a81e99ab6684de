package gemini

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// teach makes calls of a feature with six tenths of the input by rule.
func teach(l *Learning, k pairKey, calls int) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range calls {
		s := someShape(rng)
		l.learn(k, s, int64(s.tokens()*0.6), 50)
	}
}

func knows(l *Learning, k pairKey) bool {
	_, input := l.input(k, shape{words: 100})
	_, output := l.output(k, 0.95)
	return input && output
}

// TestLearningGoesOnWithoutRedis: what was learned meanwhile is used at once, and
// handed over once Redis answers again.
func TestLearningGoesOnWithoutRedis(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope, down := meterScope(), true
		way := redis.NewClient(cloneOptions(rdb))
		t.Cleanup(func() { _ = way.Close() })
		way.AddHook(faulty{before: func() error {
			if down {
				return errBroken
			}
			return nil
		}})
		l, k := learningAt(t, way, scope), pairOf(scope, "f")
		<-l.ready
		teach(l, k, 30)
		l.exchange()
		teach(l, k, 30)
		l.exchange()
		if !knows(l, k) {
			t.Error("what it learned itself is not used")
		}
		down = false
		l.exchange()
		late := learningAt(t, rdb, scope)
		if <-late.ready; !knows(late, k) {
			t.Error("it was not handed over")
		}
		if p := late.pairs[k]; p != nil && p.known.calls != 60 {
			t.Errorf("%v calls were handed over, want 60", p.known.calls)
		}
	})
}

// TestLearningIsGivenBack to a Redis that lost it.
func TestLearningIsGivenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope := meterScope()
		l, k := learningAt(t, rdb, scope), pairOf(scope, "f")
		<-l.ready
		teach(l, k, 200)
		l.exchange()
		rdb.Del(t.Context(), l.keys.root, l.keys.last)
		teach(l, k, 1)
		l.exchange()
		if !knows(l, k) {
			t.Error("it forgot with Redis")
		}
		late := learningAt(t, rdb, scope)
		if <-late.ready; !knows(late, k) {
			t.Error("Redis was not told again")
		}
	})
}

// TestLearningIsBounded in the process and in Redis, whatever names callers make
// up: the latest stay.
func TestLearningIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope := meterScope()
		clock := &handClock{at: meterNoon}
		l := learningAt(t, rdb, scope, func(o *LearningOptions) {
			o.Pairs, o.Now, o.redisNow = 100, clock.now, clock.now
		})
		<-l.ready
		for i := range 250 {
			clock.turn(time.Second)
			teach(l, pairOf(scope, fmt.Sprint("f", i)), 1)
			if i%40 == 39 {
				l.exchange()
			}
		}
		l.exchange()
		n, err := rdb.HLen(t.Context(), l.keys.root).Result()
		last, err2 := rdb.ZCard(t.Context(), l.keys.last).Result()
		if err != nil || err2 != nil || n != 100 || last != 100 || len(l.pairs) != 100 {
			t.Errorf("%d pairs in Redis, %d of them dated, %d here; want 100: %v %v", n, last, len(l.pairs), err, err2)
		}
		for _, f := range []string{"f249", "f150"} {
			if ok, _ := rdb.HExists(t.Context(), l.keys.root, pairOf(scope, f).field()).Result(); !ok {
				t.Errorf("%s, one of the latest, is gone", f)
			}
		}
		clock.turn(learnKept + time.Second)
		teach(l, pairOf(scope, "new"), 1)
		l.exchange()
		if n, _ := rdb.HLen(t.Context(), l.keys.root).Result(); n > 1 {
			t.Errorf("%d pairs are kept that nobody called for a month", n-1)
		}
	})
}

// TestLessonKeepsItsSize: what a pair takes in Redis does not grow with its calls.
func TestLessonKeepsItsSize(t *testing.T) {
	rdb, scope := dialReal(t), meterScope()
	l, k := learningAt(t, rdb, scope), pairOf(scope, "f")
	<-l.ready
	rng := rand.New(rand.NewPCG(7, 7))
	for range 40 {
		for range 100 {
			s := someShape(rng)
			l.learn(k, s, int64(s.tokens()), rng.Int64N(60_000))
		}
		l.exchange()
	}
	text, err := rdb.HGet(t.Context(), l.keys.root, k.field()).Result()
	if err != nil || len(text) > 2000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	t.Logf("%d bytes after 4,000 calls", len(text))
	got, err := unpackLesson(text)
	if err != nil || got.calls != 4000 || got.fit.weight > 100.1 || got.outs.weight() > 100.1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := unpackLesson("[1,2]"); err == nil {
		t.Error("a lesson that is cut was taken")
	}
}

// TestNoLearning: without one, the rules stand.
func TestNoLearning(t *testing.T) {
	var l *Learning
	l.learn(pairKey{}, shape{words: 1}, 5, 5)
	if knows(l, pairKey{}) {
		t.Error("nothing learns")
	}
	one := NewLearning(nil, limiter.Scope{}, LearningOptions{})
	one.Close()
	one.Close()
}
