package limiter

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/probe.lua
var luaProbe string

var probeScript = redis.NewScript(luaProbe)

// Probe tries every command that the scripts use and gives those that Redis refuses,
// each with its reason: rights that are lacking, or memory. The error says that no
// script can be run at all. Nothing is changed.
func (r *Redis) Probe(ctx context.Context) (refused []string, err error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	p := r.keys.prefix + "probe:"
	refused, err = probeScript.Run(ctx, r.rdb, []string{p + "hash", p + "sorted", p + "set", p + "stream"}).StringSlice()
	if err != nil {
		return nil, storeError(err)
	}
	return refused, nil
}
