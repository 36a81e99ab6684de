package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitCode runs a command and wants its exit code: `exitcode 6 nightshift …`.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// startRedis starts a Redis of the script's own and puts its URL in $REDIS.
// A script that needs it begins with `[!exec:redis-server] skip`; CI, where
// nothing may be skipped, installs one.
func startRedis(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := exec.LookPath("redis-server")
	ts.Check(err)
	dir := ts.MkAbs("redis")
	ts.Check(os.MkdirAll(dir, 0o755))
	port := freePort(ts)
	cmd := exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--logfile", filepath.Join(dir, "log"))
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(ts, "127.0.0.1:"+port)
	ts.Setenv("REDIS", "redis://127.0.0.1:"+port+"/0")
}

func freePort(ts *testscript.TestScript) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	return port
}

// waitFor dials until somebody listens.
func waitFor(ts *testscript.TestScript, addr string) {
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond); err == nil {
			_ = c.Close()
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("nobody listens at %s", addr)
}

// setPort puts a free address of loopback in the named variable.
func setPort(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], "127.0.0.1:"+freePort(ts))
}

// awaitListener waits until somebody listens at an address.
func awaitListener(ts *testscript.TestScript, _ bool, args []string) { waitFor(ts, args[0]) }

// awaitFile waits until a file is there and not empty.
func awaitFile(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if st, err := os.Stat(ts.MkAbs(args[0])); err == nil && st.Size() > 0 {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("%s does not come", args[0])
}

// until runs a command again and again until its output matches:
// `until PATTERN COMMAND [ARG ...]`.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARG ...]")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); err == nil && want.MatchString(out) {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	ts.Fatalf("it never says %s; last:\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// callGemini makes a call as any program would, and wants a text in the answer:
// `gemini ADDRESS KEY STATUS MODEL:METHOD [TEXT [FEATURE]]`.
func callGemini(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 || len(args) > 6 {
		ts.Fatalf("usage: gemini ADDRESS KEY STATUS MODEL:METHOD [TEXT [FEATURE]]")
	}
	status, body := post(ts, args[0], args[1], args[3], append(args[4:], "", "")[1])
	if fmt.Sprint(status) != args[2] {
		ts.Fatalf("HTTP %d, want %s: %s", status, args[2], body)
	}
	if len(args) >= 5 && !strings.Contains(body, args[4]) {
		ts.Fatalf("no %q in %s", args[4], body)
	}
}

// untilRefused calls until a key is refused, which has to be within a second or
// so: `until400 ADDRESS KEY`.
func untilRefused(ts *testscript.TestScript, _ bool, args []string) {
	for begin := time.Now(); time.Since(begin) < 10*time.Second; <-time.After(50 * time.Millisecond) {
		if status, _ := post(ts, args[0], args[1], "gemini-3.5-flash:generateContent", "chat"); status == http.StatusBadRequest {
			return
		}
	}
	ts.Fatalf("the key still holds")
}

// fromFile puts what a file holds, without its line end, in a variable.
func fromFile(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// post makes a call with a key, for a feature or with none named.
func post(ts *testscript.TestScript, address, key, method, feature string) (status int, answer string) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	req, err := http.NewRequest(http.MethodPost, address+"/v1beta/models/"+method, strings.NewReader(`{"contents":[{"parts":[{"text":"hello"}]}]}`))
	ts.Check(err)
	req.Header.Set("x-goog-api-key", key)
	req.Header.Set("Content-Type", "application/json")
	if feature != "" {
		req.Header.Set("x-nightshift-feature", feature)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return resp.StatusCode, string(body)
}

// makeCertificate writes a certificate for loopback and its key:
// `certificate CERT KEY [expired]`.
func makeCertificate(ts *testscript.TestScript, _ bool, args []string) {
	until := time.Now().Add(90 * 24 * time.Hour)
	if len(args) > 2 {
		until = time.Now().Add(-time.Hour)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	what := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: until.Add(-365 * 24 * time.Hour), NotAfter: until, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, what, what, &key.PublicKey, key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// nowhere wants a text in no file of some folders: `nowhere TEXT FOLDER ...`.
func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	files := 0
	for _, dir := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), args[0]) {
				ts.Fatalf("%s has %s in it", path, args[0])
			}
			return err
		}))
	}
	if files == 0 {
		ts.Fatalf("no files in %v", args[1:])
	}
}
