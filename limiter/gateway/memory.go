package gateway

import "context"

// pageSize is the unit in which memory for bodies is given out. A body of no
// more is not counted: it weighs like the connection that it comes over.
const pageSize = 64 << 10

// memory bounds what the bodies of all calls hold together. Whole bodies wait
// for their pages in order of arrival; a body that grows never waits, since
// growing bodies that wait for each other would do so for ever.
type memory struct {
	turn  chan struct{} // held by the one who is collecting pages
	pages chan struct{} // one token for each page in use
}

func newMemory(size int64) *memory {
	return &memory{turn: make(chan struct{}, 1), pages: make(chan struct{}, max(1, size/pageSize))}
}

func pagesOf(size int64) int { return int((size - 1) / pageSize) }

// take waits for n pages; false when the context ended first, or when there are
// not so many at all.
func (m *memory) take(ctx context.Context, n int) bool {
	if n > cap(m.pages) {
		return false
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return false
	}
	for i := range n {
		select {
		case m.pages <- struct{}{}:
		case <-ctx.Done():
			m.give(i)
			return false
		}
	}
	return true
}

// try takes one page if there is one.
func (m *memory) try() bool {
	select {
	case m.pages <- struct{}{}:
		return true
	default:
		return false
	}
}

func (m *memory) give(n int) {
	for range n {
		<-m.pages
	}
}
