package geminitest

import "time"

// prefixCache is implicit caching: prompts that begin alike are cheaper the
// second time, for an hour (https://ai.google.dev/gemini-api/docs/caching).
// The server's mu guards it.
type prefixCache map[uint64]time.Time // digest of a prefix: last seen

const (
	cacheLife = time.Hour
	cacheSize = 100_000
)

// look gives how many of the prompt's tokens were cached, and caches them.
func (c *prefixCache) look(now time.Time, p *prompt, m Model) int64 {
	if m.CacheTokens < 0 || p.prefixes == nil {
		return 0
	}
	if len(*c) > cacheSize {
		*c = prefixCache{}
	}
	known := 0
	for _, part := range p.prefixes {
		if seen, ok := (*c)[part.digest]; ok && now.Sub(seen) < cacheLife {
			known = part.bytes
		}
		(*c)[part.digest] = now
	}
	size := 0
	for _, t := range p.texts {
		size += len(t)
	}
	cached := p.tokens[modText] * int64(known) / int64(size)
	if cached < m.CacheTokens {
		return 0
	}
	return cached
}
