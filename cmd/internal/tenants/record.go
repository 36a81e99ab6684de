package tenants

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// What this package keeps in Redis, beside the limiter's keys and under their hash tag:
//
//	…:tenants         hash: node ("tenant/acme", "team/web", "key/k_…") → record as JSON
//	…:tenants:tokens  hash: digest of a token that looks → Token as JSON
func (b *Book) recordsKey() string { return "nightshift:{limiter:" + b.Scope.String() + "}:tenants" }
func (b *Book) tokensKey() string  { return b.recordsKey() + ":tokens" }

//go:embed lua/recordput.lua
var recordPutLua string

var recordPut = redis.NewScript(recordPutLua)

// record is what the limiter does not keep of a node.
type record struct {
	Rev     int64     `json:"rev"`              // grows with each change
	Tenant  string    `json:"tenant,omitempty"` // of a team
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	By      string    `json:"by"`             // who changed it last
	Stop    *stopped  `json:"stop,omitempty"` // while it is stopped

	text string // as it is stored; "" for what is not there
}

func (r record) there() bool { return r.text != "" }

// stopped is an emergency stop, with what the limit of requests was before.
type stopped struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Set    bool      `json:"set"`           // it was set over the configuration
	RPM    *int64    `json:"rpm,omitempty"` // to so much; nil: to none
}

// loadRecord gives a node's; an empty one where there is none.
func (b *Book) loadRecord(ctx context.Context, node string) (record, error) {
	text, err := b.Redis.HGet(ctx, b.recordsKey(), node).Result()
	if errors.Is(err, redis.Nil) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("tenants: %w", err)
	}
	return parseRecord(node, text)
}

func parseRecord(node, text string) (r record, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("tenants: what is kept of %s cannot be read: %w", node, err)
	}
	r.text = text
	return r, nil
}

func (b *Book) records(ctx context.Context) (map[string]record, error) {
	all, err := b.Redis.HGetAll(ctx, b.recordsKey()).Result()
	if err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	out := make(map[string]record, len(all))
	for node, text := range all {
		if out[node], err = parseRecord(node, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// next is the record that takes this one's place.
func (r record) next(by string, now time.Time) record {
	r.Rev, r.By, r.Changed = r.Rev+1, by, now.UTC().Truncate(time.Second)
	if r.Created.IsZero() {
		r.Created = r.Changed
	}
	return r
}

// swap puts a record in the place of one that was read. ErrChanged says that it is
// another meanwhile.
func (b *Book) swap(ctx context.Context, node string, was record, is *record) error {
	text := ""
	if is != nil {
		b, err := json.Marshal(is)
		if err != nil {
			return err
		}
		text = string(b)
		is.text = text
	}
	done, err := recordPut.Run(ctx, b.Redis, []string{b.recordsKey()}, node, was.text, text).Int()
	switch {
	case err != nil:
		return fmt.Errorf("tenants: %w", err)
	case done == 0:
		return ErrChanged
	}
	return nil
}
