package kept

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// looker counts looks, each of which sees its own number.
type looker struct {
	n   int
	err error
}

func (l *looker) look(context.Context) (int, error) {
	l.n++
	return l.n, l.err
}

func see(t *testing.T, got int, err error, want int) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%d, %v; want %d", got, err, want)
	}
}

// TestLookServesAllForAWhile: one look until it is too old, or something has changed; one
// that failed is nobody's.
func TestLookServesAllForAWhile(t *testing.T) {
	t.Parallel()
	var l Look[int]
	at, who := time.Unix(1000, 0), &looker{}
	get := func(after time.Duration, want int) {
		t.Helper()
		got, err := l.Seen(t.Context(), at.Add(after), time.Second, who.look)
		see(t, got, err, want)
	}
	get(0, 1)
	get(900*time.Millisecond, 1)
	get(time.Second, 2)
	l.Forget()
	get(time.Second, 3)
	who.err = errors.New("away")
	if _, err := l.Get(t.Context(), at.Add(3*time.Second), time.Second, who.look); !errors.Is(err, who.err) {
		t.Errorf("a look that failed: %v", err)
	}
	who.err = nil
	get(3*time.Second, 5)
}

// TestLookIsKept: while somebody keeps it nobody waits, also long after anybody asked; who
// wants it as it is looks, and so does everybody once it is kept no longer.
func TestLookIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Look[int]
		who := &looker{}
		ctx, end := context.WithCancel(t.Context())
		go l.Keep(ctx, 5*time.Second, time.Now, who.look)
		<-time.After(62 * time.Second)
		synctest.Wait()
		got, err := l.Seen(t.Context(), time.Now(), time.Second, who.look)
		see(t, got, err, 13)
		got, err = l.Get(t.Context(), time.Now(), time.Second, who.look)
		see(t, got, err, 14)
		end()
		<-time.After(10 * time.Second)
		synctest.Wait()
		got, err = l.Seen(t.Context(), time.Now(), time.Second, who.look)
		see(t, got, err, 15)
	})
}

// TestLookIsKeptByWhatItTakes: a look that takes a second is made once in fifty, and what
// was seen before a change is not shown after it.
func TestLookIsKeptByWhatItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Look[int]
		who := &looker{}
		slow := func(ctx context.Context) (int, error) {
			<-time.After(time.Second)
			return who.look(ctx)
		}
		ctx, end := context.WithCancel(t.Context())
		go l.Keep(ctx, 5*time.Second, time.Now, slow)
		<-time.After(500 * time.Millisecond)
		l.Forget() // in the midst of the first
		<-time.After(40 * time.Second)
		synctest.Wait()
		got, err := l.Seen(t.Context(), time.Now(), time.Second, who.look)
		see(t, got, err, 2) // its own: the first does not have the change
		<-time.After(63 * time.Second)
		synctest.Wait()
		got, err = l.Seen(t.Context(), time.Now(), time.Second, who.look)
		see(t, got, err, 4) // at 51 and 102 s
		end()
		<-time.After(10 * time.Second)
	})
}
