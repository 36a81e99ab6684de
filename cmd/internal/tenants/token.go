package tenants

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// TokenPrefix begins every token that looks, so that scanners for leaked secrets can
// know it.
const TokenPrefix = "nsv_"

// Token lets a tenant look at its own page, and at nothing else. Its text is kept as a
// hash only.
type Token struct {
	ID      string    `json:"id"` // "v_" and twelve hex digits of the hash; safe to show
	Tenant  string    `json:"tenant"`
	Name    string    `json:"name"` // for people
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	By      string    `json:"by"`               // who made it
}

// TokenDigest is how a token is kept. Tokens are random and long, so a plain hash gives
// nothing away.
func TokenDigest(token string) string {
	sum := sha256.Sum256([]byte("nightshift tenant token v1\x00" + token))
	return hex.EncodeToString(sum[:])
}

const mostTokens = 20 // of a tenant

// AddToken makes a token that looks; its text is given here and never again.
func (b *Book) AddToken(ctx context.Context, by, tenant, name string, expires time.Time) (text string, t Token, err error) {
	name = strings.TrimSpace(name)
	var bad []error
	if name == "" || len([]rune(name)) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		bad = append(bad, wrong("name", "want 1 to 64 printable characters"))
	}
	if !expires.IsZero() && !expires.After(b.now()) {
		bad = append(bad, wrong("expires", "%s is in the past", expires.UTC().Format(time.RFC3339)))
	}
	if err := wrongIf(bad...); err != nil {
		return "", t, err
	}
	if _, err := b.Show(ctx, Ref{Tenant: tenant}); err != nil {
		return "", t, err
	}
	if list, err := b.Tokens(ctx, tenant); err != nil || len(list) >= mostTokens {
		return "", t, orConflict(err, "it has %d tokens: delete those that nobody uses", len(list))
	}
	text = TokenPrefix + rand.Text() + rand.Text()
	digest := TokenDigest(text)
	t = Token{ID: "v_" + digest[:12], Tenant: tenant, Name: name, Created: b.now().UTC().Truncate(time.Second), Expires: expires, By: by}
	kept, err := json.Marshal(t)
	if err != nil {
		return "", t, err
	}
	if err := b.Redis.HSet(ctx, b.tokensKey(), digest, kept).Err(); err != nil {
		return "", t, fmt.Errorf("tenants: %w", err)
	}
	b.note(ctx, by, name, fmt.Sprintf("token %s (%s) may look at tenant %s", name, t.ID, tenant))
	return text, t, nil
}

func orConflict(err error, format string, a ...any) error {
	if err == nil {
		return conflict(format, a...)
	}
	return err
}

// Tokens gives those of a tenant, the oldest first.
func (b *Book) Tokens(ctx context.Context, tenant string) ([]Token, error) {
	all, err := b.allTokens(ctx)
	out := []Token{}
	for _, t := range all {
		if t.Tenant == tenant {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Token) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return out, err
}

func (b *Book) allTokens(ctx context.Context) (map[string]Token, error) {
	all, err := b.Redis.HGetAll(ctx, b.tokensKey()).Result()
	if err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	out := map[string]Token{}
	for digest, text := range all {
		var t Token
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			return nil, fmt.Errorf("tenants: a token's record cannot be read: %w", err)
		}
		out[digest] = t
	}
	return out, nil
}

// DropToken ends a token of a tenant, by its id; whoever is logged in with it is out.
func (b *Book) DropToken(ctx context.Context, by, tenant, id string) error {
	all, err := b.allTokens(ctx)
	if err != nil {
		return err
	}
	for digest, t := range all {
		if t.Tenant != tenant || t.ID != id {
			continue
		}
		if err := b.Redis.HDel(ctx, b.tokensKey(), digest).Err(); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
		b.note(ctx, by, t.Name, fmt.Sprintf("token %s (%s) of tenant %s is ended", t.Name, t.ID, tenant))
		return nil
	}
	return ErrNotThere
}

func (b *Book) dropTokens(ctx context.Context, tenant string) error {
	all, err := b.allTokens(ctx)
	if err != nil {
		return err
	}
	for digest, t := range all {
		if t.Tenant == tenant {
			if err := b.Redis.HDel(ctx, b.tokensKey(), digest).Err(); err != nil {
				return fmt.Errorf("tenants: %w", err)
			}
		}
	}
	return nil
}

// TokenOf finds what a token's digest lets look at. ErrNotThere is one that there is
// not, was ended or has expired.
func (b *Book) TokenOf(ctx context.Context, digest string) (t Token, err error) {
	text, err := b.Redis.HGet(ctx, b.tokensKey(), digest).Result()
	if errors.Is(err, redis.Nil) {
		return t, ErrNotThere
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &t)
	}
	switch {
	case err != nil:
		return t, fmt.Errorf("tenants: %w", err)
	case !t.Expires.IsZero() && !b.now().Before(t.Expires):
		return t, ErrNotThere
	}
	return t, nil
}
