package gemini

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// LearningOptions has the rarer settings of a Learning; zero fields take the defaults.
type LearningOptions struct {
	Pairs   int              // of lane and feature that are told apart; default 1,000, those of the latest calls
	Every   time.Duration    // between exchanges with Redis; default 1 s
	Timeout time.Duration    // of one exchange; default 2 s
	Logger  *slog.Logger     // nil means none
	Now     func() time.Time // nil means time.Now

	redisNow func() time.Time // replaces Redis's clock in tests
}

func (o LearningOptions) filled() LearningOptions {
	o.Pairs, o.Every, o.Timeout = cmp.Or(o.Pairs, 1000), cmp.Or(o.Every, time.Second), cmp.Or(o.Timeout, 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Learning is what calls taught about the next ones, by lane and feature: how
// much more or less input the provider counts than our rules, and how much output
// there is. The processes of a scope share it in Redis. Asking and learning never
// wait for Redis; with Redis away each process goes on with what it knows. Nil
// learns nothing.
type Learning struct {
	opts  LearningOptions
	rdb   redis.UniversalClient // nil shares nothing
	scope limiter.Scope
	keys  learnKeys
	stop  chan struct{} // closed by Close
	ready chan struct{} // closed when what others learned was asked for
	done  chan struct{} // closed when the exchange has ended
	once  sync.Once     // closes stop

	mu    sync.Mutex
	pairs map[pairKey]*learned // guarded by mu, and so is what they hold

	trouble tally
}

type pairKey struct {
	lane    limiter.Lane
	feature string
}

// learned is what is known of one lane and feature.
type learned struct {
	known *lesson // all of it
	fresh *lesson // what Redis does not have yet, part of known
	ask   bool    // Redis has not been asked for it
	used  time.Time
}

// NewLearning shares what is learned in a scope over Redis, until Close. A nil
// rdb keeps it to this process.
func NewLearning(rdb redis.UniversalClient, scope limiter.Scope, opts LearningOptions) *Learning {
	l := &Learning{
		opts: opts.filled(), rdb: rdb, scope: scope, keys: newLearnKeys(scope),
		stop: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{}), pairs: map[pairKey]*learned{},
	}
	if rdb == nil {
		close(l.done)
		return l
	}
	go l.run()
	return l
}

// input corrects an estimate; ok is false while too little is known.
func (l *Learning) input(k pairKey, s shape) (tokens int64, ok bool) {
	if l == nil || s.tokens() <= 0 {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pair(k)
	if !p.known.ready() {
		return 0, false
	}
	return p.known.input(p.known.fit.solve(), s), true
}

// output is what the part q of calls does not exceed for each candidate; ok is
// false while too little is known.
func (l *Learning) output(k pairKey, q float64) (tokens int64, ok bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pair(k)
	if !p.known.outputsReady() {
		return 0, false
	}
	return max(1, p.known.outs.quantile(q)), true
}

// learn takes what a call had, see lesson.learn.
func (l *Learning) learn(k pairKey, s shape, input, output int64) {
	if l == nil || s.tokens() <= 0 || input <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pair(k)
	p.fresh.lift += p.known.learn(s, input, output)
	p.fresh.take(s, input, output)
}

// pair finds one, or makes room for it.
func (l *Learning) pair(k pairKey) *learned {
	p := l.pairs[k]
	if p == nil {
		if len(l.pairs) >= l.opts.Pairs {
			l.dropOldest()
		}
		p = &learned{known: newLesson(), fresh: newLesson(), ask: true}
		l.pairs[k] = p
	}
	p.used = l.opts.Now()
	return p
}

func (l *Learning) dropOldest() {
	var oldest pairKey
	var used time.Time
	for k, p := range l.pairs {
		if used.IsZero() || p.used.Before(used) {
			oldest, used = k, p.used
		}
	}
	delete(l.pairs, oldest)
}
