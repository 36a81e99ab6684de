package tenants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"
)

// onceHeader names a request that must not be done twice, as one that is sent again
// since its answer was lost.
const onceHeader = "Idempotency-Key"

// onceKept is how long a name is remembered.
const onceKept = 24 * time.Hour

// mostOnce is the longest name, in bytes.
const mostOnce = 255

// onceRecord is what is remembered of a request. Its answer is not: there is a secret
// in it, which is kept nowhere.
type onceRecord struct {
	Sum  string    `json:"sum"`           // of what was asked
	At   time.Time `json:"at"`            //
	Made string    `json:"made"`          // "" while it is under way
	Path string    `json:"path,omitzero"` // where what was made stands
}

// once does something whose repetition would do it again, for a request with a name at
// most once.
func (v *visit) once(do handler) error {
	name := strings.Trim(v.r.Header.Get(onceHeader), `"`)
	if len(v.r.Header.Values(onceHeader)) == 0 {
		return do(v)
	}
	if name == "" || len(name) > mostOnce || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return at(inHeader, wrong(onceHeader, "want 1 to %d printable characters, such as a UUID", mostOnce))
	}
	body, err := io.ReadAll(v.r.Body)
	if err != nil {
		return wrong("body", "it cannot be read, or is larger than %d bytes", mostBody)
	}
	v.r.Body = io.NopCloser(bytes.NewReader(body))
	rec := onceRecord{Sum: sumOf(v.r.Method, v.r.URL.Path, string(body)), At: v.Book.now().UTC().Truncate(time.Second)}
	key := v.Book.recordsKey() + ":once:" + sumOf(v.by.By, v.ref.Tenant, name)
	if was, err := v.Book.remember(v.r.Context(), key, rec); err != nil || was != nil {
		return firstError(err, v.again(was, rec))
	}
	if err := do(v); err != nil {
		if undone(err) {
			return firstError(v.Book.Redis.Del(context.WithoutCancel(v.r.Context()), key).Err(), err)
		}
		return err
	}
	rec.Made, rec.Path = v.act.Target, v.w.Header().Get("Location")
	if err := v.Book.Redis.Set(context.WithoutCancel(v.r.Context()), key, rec.text(), onceKept).Err(); err != nil {
		v.Log.Warn("tenants: that a request is done is not remembered: one that is sent again is told that it is under way", "target", v.act.Target, "error", err)
	}
	return nil
}

// remember keeps a request, or gives the one that has the name already.
func (b *Book) remember(ctx context.Context, key string, rec onceRecord) (*onceRecord, error) {
	ok, err := b.Redis.SetNX(ctx, key, rec.text(), onceKept).Result()
	if err != nil || ok {
		return nil, err
	}
	text, err := b.Redis.Get(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	var was onceRecord
	return &was, json.Unmarshal([]byte(text), &was)
}

// undone holds for an error that says that nothing was done. Of others nobody knows.
func undone(err error) bool {
	var clash *ConflictError
	return len(faults(err)) > 0 || errors.As(err, &clash) || errors.Is(err, ErrNotThere)
}

// again answers a request whose name was used before.
func (v *visit) again(was *onceRecord, rec onceRecord) error {
	switch {
	case was == nil:
		return nil
	case was.Sum != rec.Sum:
		return at(inHeader, wrong(onceHeader, "it was used for another request at %s: give each its own", was.At.Format(time.RFC3339)))
	case was.Made == "":
		return conflict("the request of this %s is under way, or its end is not known: look at what there is before you send another", onceHeader)
	}
	if was.Path != "" {
		v.w.Header().Set("Location", was.Path)
	}
	v.act.Target = was.Made
	return conflict("this was done at %s (%s); nothing was done now. The secret was in that answer and is kept nowhere: if it is lost, make another", was.At.Format(time.RFC3339), was.Made)
}

func (r onceRecord) text() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // our own type: texts and a time
	}
	return string(b)
}

func sumOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// firstError is the first that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// doOnce makes a handler one of once.
func doOnce(do handler) handler { return func(v *visit) error { return v.once(do) } }
