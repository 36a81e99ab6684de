package limiter

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// The scripts; each file's head says what its KEYS, ARGV and answer are. What
// several need is concatenated before them, so nothing is written twice.
var (
	//go:embed lua/base.lua
	luaBase string
	//go:embed lua/room.lua
	luaRoom string
	//go:embed lua/line.lua
	luaLine string
	//go:embed lua/acquire.lua
	luaAcquire string
	//go:embed lua/settle.lua
	luaSettle string
	//go:embed lua/pull.lua
	luaPull string
	//go:embed lua/drop.lua
	luaDrop string
	//go:embed lua/ticket.lua
	luaTicket string
	//go:embed lua/state.lua
	luaState string
	//go:embed lua/configure.lua
	luaConfigure string
	//go:embed lua/cool.lua
	luaCool string
	//go:embed lua/restore.lua
	luaRestore string
	//go:embed lua/scope.lua
	luaScope string
	//go:embed lua/pause.lua
	luaPause string
)

var (
	acquireScript   = redis.NewScript(luaBase + luaRoom + luaLine + luaAcquire)
	settleScript    = redis.NewScript(luaBase + luaSettle)
	pullScript      = redis.NewScript(luaBase + luaRoom + luaLine + luaPull)
	dropScript      = redis.NewScript(luaBase + luaRoom + luaLine + luaDrop)
	ticketScript    = redis.NewScript(luaBase + luaRoom + luaLine + luaTicket)
	stateScript     = redis.NewScript(luaBase + luaState)
	configureScript = redis.NewScript(luaBase + luaConfigure)
	coolScript      = redis.NewScript(luaBase + luaCool)
	restoreScript   = redis.NewScript(luaBase + luaRestore)
	scopeScript     = redis.NewScript(luaScope)
	pauseScript     = redis.NewScript(luaPause)
)
