package geminitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// adminMux serves what is not Gemini's:
//
//	GET  /sim/stats         Stats
//	GET  /sim/calls         the account, a JSON line a call
//	POST /sim/reset
//	POST /sim/keys/revoke   {"key": "…"}
//	POST /sim/keys/restore  {"key": "…"}
//	POST /sim/faults        {"faults": ["503=1%"], "replace": true}
//	POST /sim/slow          {"factor": 3}
func (s *Server) adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sim/stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Stats()) })
	mux.HandleFunc("GET /sim/calls", s.serveCalls)
	mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); done(w, nil) })
	mux.HandleFunc("POST /sim/keys/revoke", s.serveKey(s.RevokeKey))
	mux.HandleFunc("POST /sim/keys/restore", s.serveKey(s.RestoreKey))
	mux.HandleFunc("POST /sim/faults", s.serveFaults)
	mux.HandleFunc("POST /sim/slow", s.serveSlow)
	return mux
}

// forAdmin says that a request is for the mux above.
func forAdmin(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/sim/") }

func (s *Server) serveCalls(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	lines := json.NewEncoder(w)
	for _, c := range s.Calls() {
		if lines.Encode(c) != nil {
			return
		}
	}
}

func (s *Server) serveKey(change func(string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Key string `json:"key"`
		}
		if err := strictBody(r, &in); err != nil || in.Key == "" {
			done(w, orText(err, "key is empty"))
			return
		}
		change(in.Key)
		done(w, nil)
	}
}

func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Faults  []Fault `json:"faults"`
		Replace bool    `json:"replace"`
	}
	if err := strictBody(r, &in); err != nil {
		done(w, err)
		return
	}
	if in.Replace {
		s.ClearFaults()
	}
	done(w, s.AddFaults(in.Faults...))
}

func (s *Server) serveSlow(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Factor float64 `json:"factor"`
	}
	if err := strictBody(r, &in); err != nil || in.Factor <= 0 {
		done(w, orText(err, "factor must be above 0"))
		return
	}
	s.SetSlow(in.Factor)
	done(w, nil)
}

// done answers a change.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

func orText(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

func strictBody(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return strict(b, v)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// recorded runs a handler without a connection.
func recorded(h http.Handler, r *http.Request) *http.Response {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	h.ServeHTTP(rec, r)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: rec.status, Status: statusLine(rec.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: rec.header, Body: io.NopCloser(&rec.body), ContentLength: int64(rec.body.Len()), Request: r,
	}
}

// recorder is the least http.ResponseWriter.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
