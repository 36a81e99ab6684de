package limiter

import (
	"strings"
	"time"
)

// readCallers reads who waits in place: the lines of lua/inplace.lua, less those who
// did not ask again in time.
func (a *arrays) readCallers(lines string, now int64, classes []string) (out []InPlace) {
	for line := range strings.Lines(lines) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 4)
		if len(part) != 4 || part[2] == "" || line[0] == '#' {
			continue
		}
		x := a.read(part[0])
		if len(x) != 5+NumUnits || x[0] < 1 || int(x[0]) > len(classes) || x[1]+goneMS < now || x[2] < now {
			continue
		}
		out = append(out, InPlace{ID: part[2], Class: classes[x[0]-1], Leaf: part[3], Until: time.UnixMilli(x[2]),
			Node: ledgerName(part[1]), Amounts: Amounts(x[5:])})
	}
	return out
}

// ledgerName names the ledger whose rule is against a caller.
func ledgerName(by string) string {
	switch by {
	case "":
		return "lane"
	case "!":
		return ""
	}
	return by
}
