package scheduler

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/members.lua
var membersLua string

var membersScript = redis.NewScript(membersLua)

const (
	beatEvery = 2 * time.Second
	beatFor   = 10 * time.Second // a scheduler not heard of for so long does not count
)

// Member is a scheduler process.
type Member struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Digest  string    `json:"digest"`          // of its configuration
	Fence   int64     `json:"fence,omitempty"` // of its leadership; 0 stands by
	Seen    time.Time `json:"-"`               // Redis's clock
}

// Name is "host pid 71".
func (m Member) Name() string {
	if m.Host == "" {
		return m.ID
	}
	return fmt.Sprintf("%s pid %d", m.Host, m.PID)
}

// Members are the schedulers that were heard of in the last ten seconds: the
// leader first, then by id.
func (c *Control) Members(ctx context.Context) ([]Member, error) {
	return c.beat(ctx, Member{})
}

// beat writes a member's entry unless it is empty, and gives all of them.
func (c *Control) beat(ctx context.Context, self Member) ([]Member, error) {
	text := ""
	if self.ID != "" {
		b, err := json.Marshal(self)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	return c.members(ctx, self.ID, text)
}

func (c *Control) leave(ctx context.Context, id string) error {
	_, err := c.members(ctx, id, "")
	return err
}

func (c *Control) members(ctx context.Context, id, text string) ([]Member, error) {
	got, err := membersScript.Run(ctx, c.Redis, []string{scopeKey(c.Scope, "members")}, id, text, beatFor.Milliseconds()).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("schedulers: %w", err)
	}
	if len(got)%2 == 0 {
		return nil, fmt.Errorf("schedulers: strange answer of %d parts", len(got))
	}
	var out []Member
	for pair := range slices.Chunk(got[1:], 2) {
		var m Member
		ms, err := strconv.ParseInt(pair[0], 10, 64)
		if err != nil || json.Unmarshal([]byte(pair[1]), &m) != nil {
			continue // a newer version's entry is not ours to read
		}
		m.Seen = time.UnixMilli(ms)
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Or(cmp.Compare(b.Fence, a.Fence), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// leader gives the member that leads; nil while none does.
func leader(members []Member) *Member {
	if len(members) == 0 || members[0].Fence == 0 {
		return nil
	}
	return &members[0]
}

// disagree names the schedulers whose configuration is not the first one's.
func disagree(members []Member) (out []string) {
	for _, m := range members {
		if m.Digest != members[0].Digest {
			out = append(out, fmt.Sprintf("%s runs with another configuration (%s) than %s (%s)",
				m.Name(), short(m.Digest), members[0].Name(), short(members[0].Digest)))
		}
	}
	return out
}

func short(digest string) string {
	if digest == "" {
		return "none"
	}
	return digest[:min(len(digest), 8)]
}
