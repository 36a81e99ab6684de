package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gateway"
)

// pairIn writes a certificate with a name and its key, and gives the files.
func pairIn(t *testing.T, dir, name string, until time.Time) TLSConfig {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	what := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * 365 * time.Hour), NotAfter: until,
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, what, what, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := TLSConfig{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	write(t, files.Cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, files.Key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCertificateFiles: each fault names the key of the configuration and the file.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good, other := pairIn(t, t.TempDir(), "a", now.Add(30*24*time.Hour)), pairIn(t, t.TempDir(), "b", now.Add(time.Hour))
	old := pairIn(t, t.TempDir(), "c", now.Add(-time.Hour))
	text := filepath.Join(t.TempDir(), "text.pem")
	write(t, text, "hello")
	for want, files := range map[string]TLSConfig{
		"gateway.tls.cert: there is no file":   {Cert: "nowhere.pem", Key: good.Key},
		"gateway.tls.key: there is no file":    {Cert: good.Cert, Key: "nowhere.pem"},
		"private key does not match":           {Cert: good.Cert, Key: other.Key},
		"the two are exchanged":                {Cert: good.Key, Key: good.Cert},
		"failed to find any PEM":               {Cert: text, Key: good.Key},
		"gateway.tls.cert: " + old.Cert + " e": old,
	} {
		if err := files.checkFiles(now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := firstError(good.checkFiles(now), TLSConfig{}.checkFiles(now)); err != nil {
		t.Error(err)
	}
	for want, files := range map[string]TLSConfig{"gateway.tls.cert: a key": {Key: "k"}, "gateway.tls.key: a cert": {Cert: "c"}} {
		if err := (GatewayConfig{MaxConnections: 1, TLS: files}).check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCertificateReload: a new pair is used for new connections while those that
// are open go on; a broken one is said once, and the old one stays.
func TestCertificateReload(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &bytes.Buffer{}
	files := pairIn(t, dir, "first", time.Now().Add(30*24*time.Hour))
	c, err := loadCertificate(files, time.Now, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	base := servedWith(t, c)
	open := newTLSClient()
	if name := open.ask(t, base); name != "first" {
		t.Errorf("certificate of %s", name)
	}
	write(t, files.Key, "half a key")
	for range 5 {
		c.look()
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 1 {
		t.Errorf("%d lines of a broken file: %s", n, log)
	}
	if name := newTLSClient().ask(t, base); name != "first" {
		t.Errorf("with a broken file: certificate of %s", name)
	}
	pairIn(t, dir, "second", time.Now().Add(time.Hour))
	c.look()
	if name := newTLSClient().ask(t, base); name != "second" {
		t.Errorf("after the change: certificate of %s", name)
	}
	if name := open.ask(t, base); name != "first" || open.dials != 1 {
		t.Errorf("the open connection: certificate of %s, %d dials", name, open.dials)
	}
	if !strings.Contains(log.String(), "ends soon") {
		t.Errorf("one that ends within the hour: %s", log)
	}
}

// TestCertificateFollow: a hangup or a tick makes it look.
func TestCertificateFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := pairIn(t, dir, "first", time.Now().Add(30*24*time.Hour))
	c, err := loadCertificate(files, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tick, hup, ended := make(chan time.Time), make(chan os.Signal), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		c.follow(ctx, tick, hup)
	}()
	pairIn(t, dir, "second", time.Now().Add(30*24*time.Hour))
	tick <- time.Now()
	pairIn(t, dir, "third", time.Now().Add(30*24*time.Hour))
	hup <- os.Interrupt // it is done with the tick
	stop()
	<-ended
	if got := names(c.current.Load())[0]; got != "third" {
		t.Errorf("certificate of %s", got)
	}
}

// servedWith serves with a certificate as the gateway does.
func servedWith(t *testing.T, c *certificate) string {
	t.Helper()
	l, err := gateway.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- gateway.Server{TLS: c.config(), Drain: time.Millisecond}.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}))
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return "https://" + l.Addr().String()
}

// tlsClient keeps its connection, and counts how many it made.
type tlsClient struct {
	*http.Client
	dials int
}

func newTLSClient() *tlsClient {
	c := &tlsClient{}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dials++
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	c.Client = &http.Client{Transport: transport}
	return c
}

// ask makes a request and gives the name in the server's certificate.
func (c *tlsClient) ask(t *testing.T, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.TLS.PeerCertificates[0].DNSNames[0]
}

// TestCertificateThatIsNotValid: an expired one, or one of tomorrow, does not take
// the place of a good one, and takes that of one that is no better.
func TestCertificateThatIsNotValid(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	dir, log, now := t.TempDir(), &bytes.Buffer{}, time.Now()
	files := pairIn(t, dir, "good", now.Add(year/2))
	c, err := loadCertificate(files, func() time.Time { return now }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	uses := func(want string) {
		t.Helper()
		for range 3 {
			c.look()
		}
		if got := names(c.current.Load())[0]; got != want {
			t.Errorf("certificate of %s, want %s", got, want)
		}
	}
	for name, until := range map[string]time.Time{"expired": now.Add(-time.Hour), "early": now.Add(year + time.Hour)} {
		log.Reset()
		pairIn(t, dir, name, until)
		uses("good")
		if n := strings.Count(log.String(), "cannot be used"); n != 1 {
			t.Errorf("%s: %d lines: %s", name, n, log)
		}
	}
	pairIn(t, dir, "tomorrow", now.Add(year+time.Hour))
	uses("good")
	now = now.Add(2 * time.Hour)
	uses("tomorrow")
	pairIn(t, dir, "good", now.Add(year/2))
	uses("good")
	pairIn(t, dir, "expired too", now.Add(-time.Minute))
	uses("good")
	now = now.Add(year) // the good one has ended meanwhile
	pairIn(t, dir, "newer", now.Add(-time.Minute))
	uses("newer")
}
