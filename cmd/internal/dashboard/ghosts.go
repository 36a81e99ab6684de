package dashboard

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ghostsShown is the most commands a note lists; asynq itself looks at the
// first 20 tasks of a list.
const (
	ghostsShown = 3
	ghostsLook  = 20
)

// ghostNote explains a queue whose lists name tasks that are gone.
func ghostNote(queue string, commands []string) string {
	s := fmt.Sprintf("Queue %s lists a task whose data is gone (somebody deleted Redis keys by hand), so its memory figure is zero. "+
		"No row is lost: the scheduler makes a new task for each open row.", queue)
	if len(commands) > 0 {
		s += " To take the dead entry out: " + strings.Join(commands, "; ")
	}
	return s
}

// ghostCommands finds the entries where asynq stumbles over them and gives the
// redis-cli commands that take them out.
func (d *Dashboard) ghostCommands(ctx context.Context, queue string) []string {
	var out []string
	for _, list := range []string{"active", "pending", "scheduled", "retry", "archived", "completed"} {
		key := "asynq:{" + queue + "}:" + list
		ids, err := d.firstIDs(ctx, key, list)
		if err != nil {
			return out
		}
		for _, id := range d.gone(ctx, queue, ids) {
			if len(out) == ghostsShown {
				return out
			}
			out = append(out, removal(key, list, id))
		}
	}
	return out
}

func isList(list string) bool { return list == "active" || list == "pending" }

func (d *Dashboard) firstIDs(ctx context.Context, key, list string) ([]string, error) {
	if isList(list) {
		return d.cfg.Redis.LRange(ctx, key, 0, ghostsLook-1).Result()
	}
	return d.cfg.Redis.ZRange(ctx, key, 0, ghostsLook-1).Result()
}

// gone are the ids that have no task.
func (d *Dashboard) gone(ctx context.Context, queue string, ids []string) []string {
	var out []string
	for _, id := range ids {
		n, err := d.cfg.Redis.Exists(ctx, "asynq:{"+queue+"}:t:"+id).Result()
		if err == nil && n == 0 {
			out = append(out, id)
		}
	}
	return out
}

func removal(key, list, id string) string {
	if isList(list) {
		return fmt.Sprintf("redis-cli LREM %s 0 %s", shellWord(key), shellWord(id))
	}
	return fmt.Sprintf("redis-cli ZREM %s %s", shellWord(key), shellWord(id))
}

// shellWord quotes for a POSIX shell: ids of foreign tasks can hold anything.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var _ redis.UniversalClient = tolerant{}
