package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// soakSample is what was there at a moment.
type soakSample struct {
	at     time.Duration // since the beginning
	parts  []vitals
	memory float64 // Redis's used_memory, bytes
	keys   map[string]keyKind
}

// vitals are a process's. The heap is what it may grow to before garbage is collected,
// twice of what lives: it has no teeth.
type vitals struct {
	name                      string
	rss, heap, goroutines, fd float64 // bytes, bytes
}

// keyKind is how many keys of a kind there are, and what they take.
type keyKind struct{ n, bytes int64 }

func (s *soak) look() soakSample {
	x := soakSample{at: time.Since(s.began), keys: map[string]keyKind{}}
	for _, p := range s.parts {
		x.parts = append(x.parts, s.vitals(p))
	}
	info, err := s.rdb.Info(s.Context(), "memory").Result()
	s.must(err)
	x.memory = infoNumber(info, "used_memory")
	s.countKeys(x.keys)
	return x
}

func (s *soak) vitals(p soakPart) vitals {
	resp, err := http.Get(p.metrics)
	s.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.must(err)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	s.must(err)
	return vitals{
		name: p.name, rss: memoryOf(s.night, p.cmd, "VmRSS") * 1e6, heap: figure(text, "go_memstats_next_gc_bytes"),
		goroutines: figure(text, "go_goroutines"), fd: float64(len(files)),
	}
}

// figure is that of a metric without labels; -1 where there is none.
func figure(text []byte, name string) float64 {
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if m == nil {
		return -1
	}
	return number(string(m[1]))
}

// countKeys goes through all keys, a thousand at a time.
func (s *soak) countKeys(kinds map[string]keyKind) {
	ctx := s.Context()
	for cursor := uint64(0); ; {
		keys, next, err := s.rdb.Scan(ctx, cursor, "", 1000).Result()
		s.must(err)
		sizes := make([]*redis.IntCmd, len(keys))
		_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				sizes[i] = p.MemoryUsage(ctx, key)
			}
			return nil
		})
		if err != nil && err != redis.Nil { //nolint:errorlint // a key that has gone meanwhile, as go-redis gives it
			s.Fatal(err)
		}
		for i, key := range keys {
			k := kinds[kindOf(key)]
			kinds[kindOf(key)] = keyKind{k.n + 1, k.bytes + sizes[i].Val()}
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}

var keyForm = regexp.MustCompile(`^(?:nightshift:)?(?:(\w+):)?(?:\{(?:(\w+):)?[^}]*\}:?)?(.*)$`)

// kindOf is whose a key is and what is in it, without what is named there: runs,
// lanes, tenants, numbers. nightshift:jobs:{run}:row:3 is a "jobs row".
func kindOf(key string) string {
	m := keyForm.FindStringSubmatch(key)
	words := strings.Split(m[3], ":")
	kind, _, _ := strings.Cut(words[0], "/")
	if len(words) > 1 {
		next, _, _ := strings.Cut(words[1], "/")
		if !strings.HasPrefix(next, "{") && (kind == "meter" || !strings.ContainsFunc(next, unicode.IsDigit)) {
			kind += ":" + next
		}
	}
	return strings.TrimSpace(m[1] + m[2] + " " + kind)
}

// holdConnection opens one to the gateway and says nothing.
func (s *soak) holdConnection() {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.gateway, "http://"))
	s.must(err)
	s.Cleanup(func() { _ = c.Close() })
}
