package limiter

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// hidden covers the places where Go looks for zone files.
const hidden = `for d in /usr/share/zoneinfo /usr/share/lib/zoneinfo /usr/lib/locale/TZ /etc/zoneinfo; do
	if [ -d $d ]; then mount -t tmpfs none $d || exit 99; fi
done
exec "$0" "$@"`

// withoutZoneFiles runs a command where no zone files are, in a mount namespace of
// its own. Where the system forbids such namespaces it only runs the command.
func withoutZoneFiles(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	spaces := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	probe := exec.Command("/bin/sh", "-c", hidden, "/bin/sh", "-c", "test ! -e /usr/share/zoneinfo/Europe/Paris")
	probe.SysProcAttr = spaces
	if out, err := probe.CombinedOutput(); err != nil {
		t.Logf("zone files cannot be hidden here: %v %s", err, out)
		return exec.Command(args[0], args[1:]...)
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", hidden}, args...)...)
	cmd.SysProcAttr = spaces
	return cmd
}
