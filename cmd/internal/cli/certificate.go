package cli

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// How often the files are looked at, and how long before its end a certificate
// is worth a line a day.
const (
	certificateEvery = 5 * time.Second
	certificateSoon  = 7 * 24 * time.Hour
)

// certificate is a pair of PEM files that is followed while it changes.
type certificate struct {
	files   TLSConfig
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[tls.Certificate]

	seen    [sha256.Size]byte // of the files, when they were last looked at; of follow's goroutine
	settled bool              // what was seen is in use, or was said to be broken; likewise
	used    [sha256.Size]byte // of the files that the current one is from; likewise
	warned  time.Time         // likewise
}

// loadCertificate reads the files; an error names the key of the configuration.
func loadCertificate(files TLSConfig, now func() time.Time, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, now: now}
	cert, seen, err := files.load()
	if err != nil {
		return nil, err
	}
	c.use(cert, seen)
	return c, nil
}

// config is what connections are made by: each takes the certificate of then.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

func (c *certificate) use(cert *tls.Certificate, seen [sha256.Size]byte) {
	c.current.Store(cert)
	c.seen, c.used, c.settled, c.warned = seen, seen, true, time.Time{}
	c.log.Info("certificate", "cert", c.files.Cert, "names", names(cert), "until", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
	c.warnOfEnd()
}

// follow looks at the files at each tick, and at a hangup signal, until the
// context ends. Connections that are open keep what they were made by.
func (c *certificate) follow(ctx context.Context, tick <-chan time.Time, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			c.look()
			c.look() // no need to see it twice: somebody says that it is whole
		case <-tick:
			c.look()
		}
	}
}

// look takes new files when they are whole. Others are told of when they are
// still so at the next look: the two are rarely written at the same moment.
func (c *certificate) look() {
	c.warnOfEnd()
	cert, seen, err := c.files.load()
	if err == nil {
		err = c.worse(cert)
	}
	changed := seen != c.seen
	switch {
	case seen == c.used:
		c.seen, c.settled = seen, true
	case err == nil:
		c.use(cert, seen) // one of tomorrow too, when its time has come
	case !changed && c.settled:
	case changed:
		c.seen, c.settled = seen, false
	default:
		c.settled = true
		c.log.Error("the new certificate cannot be used: the old one stays", "error", err, "until", c.current.Load().Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
}

// worse says why a new certificate may not take the place of the old one, which
// clients still trust.
func (c *certificate) worse(fresh *tls.Certificate) error {
	now := c.now()
	if validAt(now, c.files.Cert, c.current.Load()) != nil {
		return nil
	}
	return validAt(now, c.files.Cert, fresh)
}

// warnOfEnd says once a day that the certificate in use ends soon, or has.
func (c *certificate) warnOfEnd() {
	now, leaf := c.now(), c.current.Load().Leaf
	if now.Sub(c.warned) < 24*time.Hour {
		return
	}
	switch {
	case now.After(leaf.NotAfter):
		c.log.Error("the certificate has expired: clients will not trust it", "cert", c.files.Cert, "since", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		c.log.Error("the certificate is not valid yet: clients will not trust it", "cert", c.files.Cert, "from", leaf.NotBefore.UTC().Format(time.RFC3339))
	case leaf.NotAfter.Sub(now) < certificateSoon:
		c.log.Warn("the certificate ends soon", "cert", c.files.Cert, "until", leaf.NotAfter.UTC().Format(time.RFC3339))
	default:
		return
	}
	c.warned = now
}

// tlsOf reads the certificate and follows it; nil for plain HTTP.
func (b *backend) tlsOf(ctx context.Context) (*tls.Config, error) {
	if b.conf.Gateway.TLS.Cert == "" {
		return nil, nil
	}
	c, err := loadCertificate(b.conf.Gateway.TLS, time.Now, b.log)
	if err != nil {
		return nil, err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	tick := time.NewTicker(certificateEvery)
	go func() {
		defer tick.Stop()
		defer signal.Stop(hup)
		c.follow(ctx, tick.C, hup)
	}()
	return c.config(), nil
}

func names(cert *tls.Certificate) []string {
	out := slices.Clone(cert.Leaf.DNSNames)
	for _, ip := range cert.Leaf.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}
