package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nightshift/cmd/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nightshift": func() {
			os.Exit(onWrongClock(func() int {
				return profiled(func() int { return cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) })
			}))
		},
		"bareproxy": runBareProxy,
	})
}

// TestScripts runs each story in testdata/script through the real Main.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			// With the race detector each command would sleep for a second before it ends
			// (https://go.dev/doc/articles/race_detector#Options); a story has dozens.
			env.Setenv("GORACE", "atexit_sleep_ms=50")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode":    exitCode,
			"certificate": makeCertificate,
			"redis":       startRedis,
			"port":        setPort,
			"await":       awaitListener,
			"awaitfile":   awaitFile,
			"until":       until,
			"gemini":      callGemini,
			"until400":    untilRefused,
			"fromfile":    fromFile,
			"nowhere":     nowhere,
		},
	})
}
