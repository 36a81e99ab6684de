package dashboard

import (
	"errors"
	"testing"
)

// reply is an error as Redis answers it.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// TestMemoryTroubles: what the servers of this world say to MEMORY USAGE in a
// script; any other error stays an error.
func TestMemoryTroubles(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]string{
		"NOPERM User managed has no permissions to run the 'memory|usage' command":                             troubleForbidden,
		"ERR The user executing the script can't run this command or subcommand script: d, on @user_script:9.": troubleForbidden,
		"ERR Unknown Redis command called from script script: d, on @user_script:9.":                           troubleForbidden,
		"ERR Error running script (call to f_d): @user_script:9: Unknown Redis command called from Lua script": troubleForbidden,
		"ERR This Redis command is not allowed from script script: d":                                          troubleForbidden,
		"ERR user_script:9: attempt to perform arithmetic on local 'bytes' (a boolean value) script: d":        troubleGhost,
		"OOM command not allowed when used memory > 'maxmemory'.":                                              "",
		"LOADING Redis is loading the dataset in memory":                                                       "",
		"NOSCRIPT No matching script. Please use EVAL.":                                                        "",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                    "",
	} {
		if got := memoryTrouble(reply(text)); got != kind {
			t.Errorf("%q is %q, want %q", text, got, kind)
		}
	}
	if memoryTrouble(errors.New("dial tcp: unknown command")) != "" {
		t.Error("an error of the network is taken for an answer")
	}
}
