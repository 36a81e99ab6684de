package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"slices"
)

// profileVar names the file that a command of a benchmark writes its CPU profile to.
const profileVar = "BENCH_GATEWAY_PROFILE"

// profiled runs a command, and keeps its CPU profile when a benchmark wants it.
func profiled(main func() int) int {
	name := os.Getenv(profileVar)
	if name == "" || len(os.Args) < 2 || os.Args[1] != "gateway" {
		return main()
	}
	f, err := os.Create(name)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := main()
	pprof.StopCPUProfile()
	_ = f.Close()
	return code
}

var memoryLine = regexp.MustCompile(`(?m)^(Vm\w+):\s+(\d+) kB$`)

// memoryOf reads one of a process's amounts of memory in MB: VmRSS as it is, VmHWM
// at its most. It is 0 where the system has no /proc.
func memoryOf(f *night, cmd *exec.Cmd, which string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	f.must(err)
	for _, m := range memoryLine.FindAllStringSubmatch(string(b), -1) {
		if m[1] == which {
			return number(m[2]) * 1024 / 1e6
		}
	}
	return 0
}

func medianOf(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
