package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// What cmd/nightshift/deploy/release says of what it builds; "" in any other build.
var (
	releaseVersion string // v1.2.3, or v0.0.0-TIME-COMMIT between versions
	releaseCommit  string // all of its digits
)

// version is the release's, or else the module's as the Go toolchain recorded it.
func version() string {
	if releaseVersion != "" {
		return releaseVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// commit is what was built, as far as that is known.
func commit() string {
	if releaseCommit != "" {
		return releaseCommit
	}
	out := "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			out = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			out += ", and changes since"
		}
	}
	return out
}

func newVersionCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which version this is, of which commit, built by which Go",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return showVersion(f) },
	}
	f.addOutputFlag(cmd)
	return cmd
}

func showVersion(f *factory) error {
	t := newTable("VERSION", "COMMIT", "GO", "PLATFORM")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	t.row(version(), commit(), runtime.Version(), platform)
	return f.print(t, map[string]string{"version": version(), "commit": commit(), "go": runtime.Version(), "platform": platform})
}
