package cli

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// load reads the pair and what stands for its content, which changes with it
// also where it cannot be read.
func (t TLSConfig) load() (*tls.Certificate, [sha256.Size]byte, error) {
	cert, certErr := os.ReadFile(t.Cert)
	key, keyErr := os.ReadFile(t.Key)
	sum := sha256.New()
	for _, part := range [][]byte{cert, {0}, key, {0}, []byte(fmt.Sprint(certErr, keyErr))} {
		sum.Write(part)
	}
	var seen [sha256.Size]byte
	sum.Sum(seen[:0])
	switch {
	case certErr != nil:
		return nil, seen, fmt.Errorf("gateway.tls.cert: %w", unreadable(certErr))
	case keyErr != nil:
		return nil, seen, fmt.Errorf("gateway.tls.key: %w", unreadable(keyErr))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, seen, fmt.Errorf("gateway.tls: %s and %s: %w", t.Cert, t.Key, pairError(cert, key, err))
	}
	return &pair, seen, nil
}

func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		var path *fs.PathError
		if errors.As(err, &path) {
			return fmt.Errorf("there is no file %s", path.Path)
		}
	}
	return err
}

// pairError says the commonest mistake in words; the library's own say nothing
// of which file it is.
func pairError(cert, key []byte, err error) error {
	switch isKey, isCert := bytes.Contains(cert, []byte("PRIVATE KEY")), bytes.Contains(key, []byte("BEGIN CERTIFICATE")); {
	case isKey && isCert:
		return errors.New("the two are exchanged: cert names the key, and key the certificate")
	case bytes.Contains(key, []byte("ENCRYPTED")):
		return errors.New("the key asks for a passphrase; take it off with `openssl pkey`")
	}
	return err
}

// checkFiles is for `config check`: the files are there, fit, and are valid now.
func (t TLSConfig) checkFiles(now time.Time) error {
	if t.Cert == "" {
		return nil
	}
	pair, _, err := t.load()
	if err != nil {
		return err
	}
	return validAt(now, t.Cert, pair)
}

func validAt(now time.Time, file string, pair *tls.Certificate) error {
	switch {
	case now.After(pair.Leaf.NotAfter):
		return fmt.Errorf("gateway.tls.cert: %s expired on %s", file, pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(pair.Leaf.NotBefore):
		return fmt.Errorf("gateway.tls.cert: %s is valid from %s on", file, pair.Leaf.NotBefore.UTC().Format(time.DateOnly))
	}
	return nil
}
