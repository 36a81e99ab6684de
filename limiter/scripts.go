package limiter

import (
	"cmp"
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The scripts; each file's head says what its KEYS, ARGV and answer are. What
// several need is concatenated before them, so nothing is written twice.
var (
	//go:embed lua/base.lua
	luaBase string
	//go:embed lua/ring.lua
	luaRing string
	//go:embed lua/upgrade.lua
	luaUpgrade string
	//go:embed lua/slots.lua
	luaSlots string
	//go:embed lua/shape.lua
	luaShape string
	//go:embed lua/lower.lua
	luaLower string
	//go:embed lua/feedback.lua
	luaFeedback string
	//go:embed lua/nodes.lua
	luaNodes string
	//go:embed lua/room.lua
	luaRoom string
	//go:embed lua/hold.lua
	luaHold string
	//go:embed lua/breaker.lua
	luaBreaker string
	//go:embed lua/trip.lua
	luaTrip string
	//go:embed lua/line.lua
	luaLine string
	//go:embed lua/inplace.lua
	luaInPlace string
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
	//go:embed lua/floors.lua
	luaFloors string
	//go:embed lua/cool.lua
	luaCool string
	//go:embed lua/restore.lua
	luaRestore string
	//go:embed lua/scope.lua
	luaScope string
	//go:embed lua/pause.lua
	luaPause string
	//go:embed lua/closing.lua
	luaClosing string
	//go:embed lua/closed.lua
	luaClosed string
	//go:embed lua/closings.lua
	luaClosings string
	//go:embed lua/note.lua
	luaNote string
)

// luaLedger is what every script about limits begins with.
var luaLedger = luaBase + luaRing + luaSlots + luaUpgrade + luaLower + luaShape + luaNodes

var (
	acquireScript   = script(luaLedger, luaRoom, luaLine, luaInPlace, luaHold, luaBreaker, luaAcquire)
	settleScript    = script(luaLedger, luaHold, luaSettle)
	pullScript      = script(luaLedger, luaRoom, luaLine, luaInPlace, luaHold, luaBreaker, luaPull)
	dropScript      = script(luaLedger, luaRoom, luaLine, luaInPlace, luaHold, luaDrop)
	ticketScript    = script(luaLedger, luaRoom, luaLine, luaInPlace, luaHold, luaTicket)
	stateScript     = script(luaLedger, luaState)
	configureScript = script(luaLedger, luaConfigure)
	floorsScript    = script(luaLedger, luaFloors)
	feedbackScript  = script(luaLedger, luaFeedback)
	coolScript      = script(luaLedger, luaClosing, luaCool)
	restoreScript   = script(luaLedger, luaRestore)
	tripScript      = script(luaBase, luaBreaker, luaClosing, luaTrip)
	scopeScript     = script(luaScope)
	pauseScript     = script(luaClosing, luaPause)
	noteScript      = script(luaNote)
	closedScript    = script(luaClosing, luaClosed)
	closingsScript  = script(luaClosings)
)

// script loads the parts when the script is first asked for: most commands need
// one or two of them, and all would take longer than the rest of a command's start.
func script(parts ...string) func() *redis.Script {
	return sync.OnceValue(func() *redis.Script { return redis.NewScript(load(parts...)) })
}

// load joins the parts of a script into what Redis gets.
func load(parts ...string) string { return inline(presize(strings.Join(parts, ""))) }

var methods = regexp.MustCompile(`(?m)^function M\.(\w+)`)

// presize names the functions in the table that they hang in, so that it is made
// in its size and never grown: that would be done anew on every call.
func presize(lua string) string {
	var names strings.Builder
	for _, m := range methods.FindAllStringSubmatch(lua, -1) {
		names.WriteString(m[1] + " = false, ")
	}
	return strings.Replace(lua, "local M = {", "local M = {"+names.String(), 1)
}

var (
	constants = regexp.MustCompile(`(?m)^local ([A-Z][A-Z0-9]*(?:, [A-Z][A-Z0-9]*)*) = (\d+(?:, \d+)*)(?: --.*)?$`)
	capitals  = regexp.MustCompile(`\b[A-Z][A-Z0-9]*\b`)
)

// inline writes the constants into a script's text. As locals they would be
// captured by every function that uses them, on every call: half of a decision's
// time. Strings are left alone.
func inline(lua string) string {
	values := map[string]string{}
	for _, m := range constants.FindAllStringSubmatch(lua, -1) {
		numbers := strings.Split(m[2], ", ")
		for i, name := range strings.Split(m[1], ", ") {
			values[name] = numbers[i]
		}
	}
	lines := strings.Split(constants.ReplaceAllString(lua, ""), "\n")
	for i, line := range lines {
		code, comment, _ := strings.Cut(line, "--")
		parts := strings.Split(code, "'")
		for j := 0; j < len(parts); j += 2 {
			parts[j] = capitals.ReplaceAllStringFunc(parts[j], func(s string) string { return cmp.Or(values[s], s) })
		}
		if lines[i] = strings.Join(parts, "'"); comment != "" {
			lines[i] += "--" + comment
		}
	}
	return strings.Join(lines, "\n")
}
