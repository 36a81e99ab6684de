package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
)

// bodies keeps what was sent to the simulated API.
type bodies struct {
	to http.RoundTripper

	mu  sync.Mutex
	all []string
}

func (b *bodies) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	b.mu.Lock()
	b.all = append(b.all, string(body))
	b.mu.Unlock()
	return b.to.RoundTrip(q)
}

// sent is the one body that has a text in it.
func (b *bodies) sent(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, body := range b.all {
		var m map[string]json.RawMessage
		if strings.Contains(body, text) && json.Unmarshal([]byte(body), &m) == nil {
			return m
		}
	}
	t.Fatalf("no request has %q in it: %q", text, b.all)
	return nil
}

// recorded is a worker's configuration, and what it sends.
func (r *rig) recorded() (Config, *bodies) {
	b := &bodies{to: r.sim}
	cfg := r.config()
	cfg.Client = r.clientVia(b, r.gate)
	return cfg, b
}

// pixel is a picture of one.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"

// folder writes files and gives the path of the first.
func (r *rig) folder(files ...string) string {
	r.Helper()
	dir := r.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			r.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// TestOutputsWithFiles: each output is a row with a call, a schema and a state of
// its own; the picture's bytes go along, and are forgotten once nobody can want them.
func TestOutputsWithFiles(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		cfg, sent := r.recorded()
		ask := []jobs.TurnTemplate{
			{Parts: []jobs.PartTemplate{{Text: "id: {{.id}} before"}}}, {Role: jobs.RoleModel, Parts: []jobs.PartTemplate{{Text: "yes"}}},
			{Parts: []jobs.PartTemplate{{Text: "{{.output}} it"}, {File: "{{.image}}"}}},
		}
		cap := int32(77)
		run := r.enqueueFile(r.folder("r.jsonl", `{"id":"a","image":"p.png"}`, "p.png", pixel), spec(func(s *jobs.Spec) {
			s.Template = ""
			s.Outputs = []jobs.Output{
				{Name: "tell", Turns: ask, System: "be kind", Settings: jobs.Settings{MaxOutputTokens: cap}},
				{Name: "tag", Turns: ask, Settings: jobs.Settings{ResponseMIMEType: "application/json", ResponseSchema: json.RawMessage(`{"type":"object","properties":{"t":{"type":"string"}},"required":["t"]}`)}},
			}
		}))
		if _, err := r.store.File(t.Context(), run.ID, "p.png"); err != nil {
			t.Errorf("the picture is not kept while it is wanted: %v", err)
		}
		r.start(cfg)
		r.await(run, 5*time.Minute)
		all := r.results(run)
		if tell, tag := all["a/tell"], all["a/tag"]; tell.Status != "done" || len(tell.Parsed) > 0 || tag.Status != "done" || !strings.Contains(string(tag.Parsed), `"t"`) {
			t.Errorf("tell %+v\ntag %+v", tell, tag)
		}
		tell, tag := sent.sent(t, "tell it"), sent.sent(t, "tag it")
		var turns []struct {
			Role  string
			Parts []struct {
				Text       string
				InlineData struct {
					MIMEType string
					Data     []byte
				}
			}
		}
		if err := json.Unmarshal(tell["contents"], &turns); err != nil || len(turns) != 3 || turns[1].Role != "model" || turns[1].Parts[0].Text != "yes" ||
			string(turns[2].Parts[1].InlineData.Data) != pixel || turns[2].Parts[1].InlineData.MIMEType != "image/png" {
			t.Errorf("contents %s (%v)", tell["contents"], err)
		}
		if !strings.Contains(string(tell["systemInstruction"]), "be kind") || !strings.Contains(string(tell["generationConfig"]), "77") || strings.Contains(string(tag["generationConfig"]), "77") || tag["systemInstruction"] != nil {
			t.Errorf("tell %s %s, tag %s %s", tell["systemInstruction"], tell["generationConfig"], tag["systemInstruction"], tag["generationConfig"])
		}
		was, err := r.store.File(t.Context(), run.ID, "p.png")
		if err != nil {
			t.Errorf("nobody knows any more which picture it was: %v", err)
		}
		if _, err := r.store.FileContent(t.Context(), run.ID, was.Digest); !errors.Is(err, jobs.ErrNoFile) {
			t.Errorf("the picture is still kept: %v", err)
		}
	})
}

// TestFileIsGone: a row whose file was lost fails with a reason, without a call.
func TestFileIsGone(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueueFile(r.folder("r.jsonl", `{"id":"a","image":"p.png"}`, "p.png", pixel), spec(func(s *jobs.Spec) {
			s.Template, s.Turns = "", []jobs.TurnTemplate{{Parts: []jobs.PartTemplate{{Text: "x"}, {File: "{{.image}}"}}}}
		}))
		r.mini.Del("nightshift:jobs:{" + run.ID + "}:file")
		r.start(r.config())
		r.await(run, time.Minute)
		if res := r.results(run)["a"]; res.Error == nil || res.Error.Cause != "file" || !strings.Contains(res.Error.Message, "enqueue the input again") || len(r.sim.Calls()) != 0 {
			t.Errorf("%+v, error %+v, %d calls", res, res.Error, len(r.sim.Calls()))
		}
	})
}

// TestGeminiLinesAreSentAsTheyStand: what nightshift knows nothing of goes along, one
// permit a line, and the answer is held against what the line asks for.
func TestGeminiLinesAreSentAsTheyStand(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		cfg, sent := r.recorded()
		lines := `{"key":"a","request":{"contents":[{"role":"user","parts":[{"text":"id: a say <this>"}]}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}],"generationConfig":{"topK":3,"maxOutputTokens":500}}}
{"key":"b","request":{"contents":[{"parts":[{"text":"id: b as JSON"}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"t":{"type":"string"}},"required":["t"]}}}}
`
		run := r.enqueueFile(r.folder("r.jsonl", lines), spec(func(s *jobs.Spec) {
			s.Template, s.IDColumn, s.Steer.ServiceTier = "", "", "flex"
		}))
		r.start(cfg)
		if got := tally(r.await(run, 5*time.Minute)); got != "done 2" {
			t.Fatalf("rows are %s: %+v", got, r.results(run))
		}
		a := sent.sent(t, "id: a")
		if string(a["safetySettings"]) != `[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]` || !strings.Contains(string(a["generationConfig"]), `"topK":3`) || string(a["serviceTier"]) != `"flex"` || len(a) != 4 {
			t.Errorf("sent %s", a)
		}
		all := r.results(run)
		if !strings.Contains(string(all["b"].Parsed), `"t"`) || len(all["a"].Parsed) > 0 || r.gate.granted != 2 {
			t.Errorf("%+v\n%+v\n%d permits", all["a"], all["b"], r.gate.granted)
		}
	})
}

// TestLineCallsKeepTheirDigits: what a line's own function is called with comes back with
// the digits that the model wrote, over the SDK and the transport.
func TestLineCallsKeepTheirDigits(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		const call = `{"name":"f","args":{"id":9007199254740993}}`
		line := `{"key":"a","request":{"contents":[{"parts":[{"text":"id: a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}}`
		cfg := r.config()
		cfg.Client = r.clientVia(&sayer{any: `{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`}, r.gate)
		run := r.enqueueFile(r.folder("lines.jsonl", line+"\n"), spec(func(s *jobs.Spec) { s.Template, s.IDColumn = "", "" }))
		r.start(cfg)
		r.await(run, time.Minute)
		if got := r.results(run)["a"]; string(got.Parsed) != `{"functionCalls":[`+call+`]}` {
			t.Errorf("%s: %s %+v", got.Status, got.Parsed, got.Error)
		}
	})
}
