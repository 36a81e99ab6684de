package gemini

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestAnswerCacheIsBounded: the newest answers that have room are kept, no longer
// than their time, and the sum of sizes is that of what is there.
func TestAnswerCacheIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		ctx, clock := t.Context(), &handClock{at: time.Now()}
		c := NewAnswerCache(rdb, meterScope(), AnswerCacheOptions{TTL: time.Hour, MaxBytes: 10_000, redisNow: clock.now})
		put := func(key string, size int) {
			t.Helper()
			if err := c.Put(ctx, key, []byte(strings.Repeat("x", size))); err != nil {
				t.Fatal(err)
			}
		}
		there := func(key string) bool {
			t.Helper()
			_, found, err := c.Get(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		for i := range 20 {
			put(fmt.Sprint("k", i), 700) // 1,000 with what Redis takes beside it
			clock.turn(time.Second)
		}
		for i := range 20 {
			if want := i >= 10; there(fmt.Sprint("k", i)) != want {
				t.Errorf("k%d there: %t", i, !want)
			}
		}
		put("k19", 100) // again, smaller
		put("large", 1001)
		if there("large") {
			t.Error("one answer takes more than a tenth")
		}
		total, err := rdb.HGet(ctx, c.root+":sizes", "total").Int64()
		n, errN := rdb.ZCard(ctx, c.root).Result()
		if err != nil || errN != nil || total != 9*1000+400 || n != 10 {
			t.Errorf("%d bytes in %d answers, %v %v", total, n, err, errN)
		}
		if ttl, err := rdb.PTTL(ctx, c.root+":k19").Result(); err != nil || ttl <= 59*time.Minute || ttl > time.Hour {
			t.Errorf("lives %s, %v", ttl, err)
		}
		clock.turn(2 * time.Hour) // Redis itself would have dropped the answers by now
		put("new", 10)
		if n, err := rdb.ZCard(ctx, c.root).Result(); err != nil || n != 1 {
			t.Errorf("%d names of old answers are left, %v", n-1, err)
		}
	})
}

// TestCachedAnswer: a good answer comes again when there is none, unary and as a
// stream, whichever it was kept from, to the same tenant only.
func TestCachedAnswer(t *testing.T) {
	const sse = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"he\"}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"llo\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"totalTokenCount\":9}}\r\n\r\n"
	unary := strings.Replace(good, `"hi"`, `"hello"`, 1)
	for name, c := range map[string]struct {
		path string
		base sender
	}{
		"kept from a unary call": {generate, replies(200, "application/json", unary)},
		"kept from a stream":     {streaming + "?alt=sse", replies(200, "text/event-stream", sse)},
		"kept from an array":     {streaming, replies(200, "application/json", "["+strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(sse, "data: ", "")), "\r\n\r\n", ",")+"]")},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newDegradeRig(t, c.base, canned(DegradedCached))
			resp, obs, err := r.ask(c.path, question)
			if r.got(resp, err); obs.Degraded != nil {
				t.Fatalf("%s: %+v", name, obs)
			}
			synctest.Wait() // an answer is kept while its caller goes on
			r.refuse("gemini-2.5-flash", noMoney)
			alias := strings.Replace(generate, "gemini-2.5-flash", "gemini-flash-latest", 1)
			for _, path := range []string{generate, alias, streaming + "?alt=sse", streaming} {
				resp, obs, err := r.ask(path, `{ "contents" : [ {"parts":[{"text":"hello"}]} ] }`)
				body := r.got(resp, err)
				if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "event-stream") != strings.HasSuffix(path, "sse") {
					t.Errorf("%s, %s: %s", name, path, kind)
				}
				doc := strings.Trim(strings.TrimPrefix(strings.TrimSpace(body), "data: "), "[]")
				if text := textOf(t, doc); text != "hello" || obs.Degraded == nil || obs.Degraded.Kind != DegradedCached {
					t.Errorf("%s, %s: %q %+v", name, path, text, obs.Degraded)
				}
			}
			if _, _, err := r.askAs(Caller{Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "other"}}, generate, question); err == nil {
				t.Errorf("%s: another tenant gets it", name)
			}
		})
	}
}

// TestOnlyGoodAnswersAreKept: what is truncated, blocked, empty, cut, refused,
// made here, or of a feature that nobody wants it for, is not kept.
func TestOnlyGoodAnswersAreKept(t *testing.T) {
	const event = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"he\"}]}}]}\r\n\r\n"
	for name, c := range map[string]struct {
		path, feature string
		status        int
		body          string
	}{
		"truncated":         {generate, "chat", 200, strings.Replace(good, "STOP", "MAX_TOKENS", 1)},
		"blocked":           {generate, "chat", 200, `{"promptFeedback":{"blockReason":"SAFETY"}}`},
		"empty":             {generate, "chat", 200, `{"candidates":[{"finishReason":"STOP"}]}`},
		"one of two is cut": {generate, "chat", 200, `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"content":{"parts":[{"text":"b"}]}}]}`},
		"an error":          {generate, "chat", 503, `{"error":{"code":503}}`},
		"cut JSON":          {generate, "chat", 200, good[:len(good)-3]},
		"a cut stream":      {streaming + "?alt=sse", "chat", 200, event},
		"a broken event":    {streaming + "?alt=sse", "chat", 200, event + "data: {\"cand"},
		"another feature":   {generate, "search", 200, good},
		"an embedding":      {"/v1beta/models/gemini-embedding-001:embedContent", "chat", 200, `{"embedding":{"values":[1]}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			rule := canned(DegradedCached, DegradedCanned)
			rule.Feature = "chat"
			r := newDegradeRig(t, replies(c.status, "application/json", c.body), rule)
			resp, _, err := r.askAs(Caller{Class: "interactive", Feature: c.feature}, c.path, question)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			synctest.Wait()
			if n := len(r.cache.all()); n != 0 {
				t.Errorf("%s: kept", name)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // an observation changes nothing, a caller that breaks off has no answer
		r := newDegradeRig(t, replies(200, "text/event-stream", event), canned(DegradedCached))
		resp, _, err := r.ask(streaming+"?alt=sse", question)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		synctest.Wait()
		if n := len(r.cache.all()); n != 0 {
			t.Error("a stream that was broken off is kept")
		}
	})
}

// TestKeepHoldsNobodyUp: a cache that takes its time neither delays callers nor
// collects answers without end.
func TestKeepHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowAnswers{}
		lanes := degradeLanes(t)
		f, err := NewFallbacks(FallbacksConfig{Rules: []FallbackRule{{Try: []DegradeKind{DegradedCached}}}, Lanes: lanes, Cache: slow})
		if err != nil {
			t.Fatal(err)
		}
		tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{}, func(c *TransportConfig) { c.Lanes, c.Degrade = lanes, f })
		begin := time.Now()
		for range 100 {
			ctx, _ := Observe(WithCaller(t.Context(), Caller{Class: "interactive", Feature: "chat"}))
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("callers waited %s", took)
		}
		synctest.Wait()
		if n := slow.at.Load(); n != keepMost {
			t.Errorf("%d are being kept at once, want %d", n, keepMost)
		}
		pass(time.Hour)
		if n := slow.at.Load(); n != 0 {
			t.Errorf("%d are still being kept", n)
		}
	})
}

// slowAnswers takes until its context ends.
type slowAnswers struct{ at atomic.Int64 }

func (s *slowAnswers) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (s *slowAnswers) Put(ctx context.Context, _ string, _ []byte) error {
	s.at.Add(1)
	defer s.at.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}
