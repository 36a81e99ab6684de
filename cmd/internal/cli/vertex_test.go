package cli

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serviceAccount writes the file of one whose tokens come from the address.
func serviceAccount(t *testing.T, tokenURI string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "night@cloud-1.iam.gserviceaccount.com", "private_key_id": "1", "token_uri": tokenURI,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVertexTokens: with a service account's file each call has an access token,
// which is asked for once; no API key is needed.
func TestVertexTokens(t *testing.T) {
	t.Parallel()
	asked := 0
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"ya29.of-the-account","token_type":"Bearer","expires_in":3600}`))
	}))
	defer tokens.Close()
	conf, err := loadConfig("", nil, map[string]any{
		"gemini.api": "vertex", "gemini.region": "us-central1", "gemini.api_key_env": "NO_SUCH_KEY",
		"gemini.vertex.project": "cloud-1", "gemini.vertex.credentials": serviceAccount(t, tokens.URL),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := conf.apiURL(); got != "https://us-central1-aiplatform.googleapis.com" {
		t.Errorf("calls go to %s", got)
	}
	if _, key, err := conf.provider(); key != "" || err != nil {
		t.Errorf("key %q, %v", key, err)
	}
	v, err := conf.vertex()
	if err != nil || v.Project != "cloud-1" || v.Location != "us-central1" {
		t.Fatalf("%+v, %v", v, err)
	}
	for range 2 {
		if got, err := v.Token(t.Context()); got != "ya29.of-the-account" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked for %d tokens, want one", asked)
	}
}

// TestVertexConfig: what would be passed over is refused, by its name.
func TestVertexConfig(t *testing.T) {
	t.Parallel()
	for want, flags := range map[string]map[string]any{
		"gemini.vertex: is set, and gemini.api":      {"gemini.vertex.project": "cloud-1"},
		"gemini.vertex.project: must be set where":   {"gemini.api": "vertex", "gemini.vertex.credentials": "x.json"},
		"gemini.vertex.project: must be set to call": {"gemini.api": "vertex", "gemini.region": "eu"},
		"gemini.api: \"vertx\"":                      {"gemini.api": "vertx"},
		"gateway.metrics: \"9464\"":                  {"gateway.metrics": "9464"},
	} {
		conf, err := loadConfig("", nil, flags)
		if err == nil {
			err = conf.check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", flags, err, want)
		}
	}
	conf := &loaded{}
	conf.Gemini.API, conf.Gemini.Vertex = "vertex", VertexConfig{Project: "cloud-1", Credentials: filepath.Join(t.TempDir(), "none.json")}
	if _, err := conf.vertex(); err == nil || !strings.Contains(err.Error(), "gemini.vertex.credentials") {
		t.Errorf("no such file: %v", err)
	}
}
