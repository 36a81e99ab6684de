package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// standIn is a program in nightshift's place, as large as the test needs it: CI
// builds a release of the real one, twice.
var standIn = map[string]string{
	"go.mod":                           "module nightshift\n\ngo 1.26.0\n",
	"README.md":                        "read me\n",
	"cmd/internal/notices/notices.txt": "terms\n",
	"cmd/nightshift/deploy/units/a":    "a unit\n",
	"cmd/nightshift/deploy/Dockerfile": "an image\n",
	"cmd/internal/cli/version.go":      "package cli\n\nvar releaseVersion, releaseCommit string\n\nfunc Say() { println(releaseVersion, releaseCommit) }\n",
	"cmd/nightshift/main.go":           "package main\n\nimport \"nightshift/cmd/internal/cli\"\n\nfunc main() { cli.Say() }\n",
}

// source makes a repository of the stand-in with the release script, at a commit
// that is the same in every folder.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("deploy/release")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string, mode os.FileMode) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range standIn {
		put(name, text, 0o644)
	}
	put("cmd/nightshift/deploy/release", string(script), 0o755)
	run(t, dir, nil, "git", "init", "-q")
	run(t, dir, nil, "git", "add", ".")
	run(t, dir, nil, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "all")
	return dir
}

// run runs a command in a folder and gives what it prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-30T12:00:00+09:00", "GIT_AUTHOR_DATE=2026-11-30T12:00:00+09:00", "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

var archiveName = regexp.MustCompile(`^nightshift_v0\.0\.0-20261130030000-[0-9a-f]{12}_([a-z]+)_([a-z0-9]+)\.tar\.gz$`)

// TestReleaseIsReproducible builds the same commit in two folders, at other settings
// of the builder's, and wants the same bytes.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	one, other := source(t), source(t)
	own := runtime.GOOS + "/" + runtime.GOARCH
	const foreign = "darwin/arm64"
	run(t, one, nil, "cmd/nightshift/deploy/release", own, foreign)
	elsewhere := t.TempDir()
	run(t, t.TempDir(), []string{"GOFLAGS=-tags=other", "GOAMD64=v3", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8"},
		"sh", "-c", `umask 077; exec "$0" "$@"`, filepath.Join(other, "cmd/nightshift/deploy/release"), "-o", elsewhere, own, foreign)

	files := folder(t, filepath.Join(one, "dist"))
	if again := folder(t, elsewhere); !slices.EqualFunc(files, again, func(a, b file) bool { return a.name == b.name && bytes.Equal(a.text, b.text) }) {
		t.Errorf("the second build differs: %v and %v", names(files), names(again))
	}
	var sums strings.Builder
	archives := 0
	for _, f := range files {
		if archiveName.MatchString(f.name) {
			sum := sha256.Sum256(f.text)
			sums.WriteString(hex.EncodeToString(sum[:]) + "  " + f.name + "\n")
			archives++
			checkArchive(t, f, one)
		}
	}
	if got := files[0]; got.name != "SHA256SUMS" || string(got.text) != sums.String() || archives != 2 {
		t.Errorf("%s has\n%s; want\n%s", got.name, got.text, sums.String())
	}
}

type file struct {
	name string
	mode os.FileMode
	text []byte
}

func names(files []file) (out []string) {
	for _, f := range files {
		out = append(out, f.name)
	}
	return out
}

func folder(t *testing.T, dir string) (out []file) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file{name: e.Name(), text: b})
	}
	return out
}

// checkArchive looks what is in an archive, that nothing in it tells of the builder's
// machine, and that the program of this platform knows its version.
func checkArchive(t *testing.T, archive file, built string) {
	t.Helper()
	top := strings.TrimSuffix(archive.name, ".tar.gz")
	files := unpack(t, archive)
	if got, want := names(files), []string{top + "/", top + "/LICENSES.txt", top + "/README.md", top + "/deploy/", top + "/deploy/units/", top + "/deploy/units/a", top + "/nightshift"}; !slices.Equal(got, want) {
		t.Errorf("%s has %v; want %v", archive.name, got, want)
		return
	}
	program := files[len(files)-1]
	if program.mode != 0o755 || files[1].mode != 0o644 {
		t.Errorf("%s: modes %v and %v", archive.name, program.mode, files[1].mode)
	}
	if bytes.Contains(program.text, []byte(built)) {
		t.Errorf("%s: the program names the folder that it was built in", archive.name)
	}
	if m := archiveName.FindStringSubmatch(archive.name); m[1] != runtime.GOOS || m[2] != runtime.GOARCH {
		return
	}
	path := filepath.Join(t.TempDir(), "nightshift")
	if err := os.WriteFile(path, program.text, 0o755); err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(run(t, built, nil, "git", "rev-parse", "HEAD"))
	version := "v0.0.0-20261130030000-" + commit[:12]
	if got := run(t, "", nil, path); got != version+" "+commit+"\n" {
		t.Errorf("it says %q; want version %s and commit %s", got, version, commit)
	}
}

func unpack(t *testing.T, archive file) (out []file) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive.text))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.UTC().Format(time.DateTime) != "2026-11-30 03:00:00" {
			t.Errorf("%s: owner %d:%d, time %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file{h.Name, h.FileInfo().Mode().Perm(), b})
	}
}

// TestReleaseOfATag is named by it, and none is made of what is in no commit.
func TestReleaseOfATag(t *testing.T) {
	t.Parallel()
	dir := source(t)
	run(t, dir, nil, "git", "tag", "v1.2.3")
	own := runtime.GOOS + "/" + runtime.GOARCH
	if said := run(t, dir, nil, "cmd/nightshift/deploy/release", own); !strings.Contains(said, "nightshift_v1.2.3_") {
		t.Errorf("it says %s", said)
	}
	if err := os.WriteFile(filepath.Join(dir, "forgotten"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cmd/nightshift/deploy/release", own)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "forgotten") {
		t.Errorf("with a file that is in no commit: %v, %s", err, out)
	}
}
