package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"nightshift/limiter/gemini"
)

// infoOf is the gateway's ErrorInfo of a refusal.
func (s *setup) infoOf(a answer) errorInfo {
	s.Helper()
	var e struct {
		Error struct{ Details []errorInfo }
	}
	s.must(json.Unmarshal([]byte(a.body), &e))
	for _, d := range e.Error.Details {
		if d.Domain == "nightshift" {
			return d
		}
	}
	s.Fatalf("no ErrorInfo of the gateway's: %s", a.body)
	return errorInfo{}
}

// TestPermitRefusalsSayWhose: each says of which permit, call and caller it is, as
// refusals of calls do; of a permit that the caller may not see only its id.
func TestPermitRefusalsSayWhose(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key, other := s.chat(), s.key("bulk", "night")
	take := func(id string) permitAnswer {
		return s.permitOf(s.exchange(true, http.MethodPost, permitsPath, strings.TrimSuffix(onePermit, "}")+`,"request_id":"`+id+`"}`, "x-goog-api-key", key))
	}
	told := take("told")
	s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+told.ID+"/settle", `{"partial":true,"usage":{"input_tokens":1}}`, "x-goog-api-key", key))
	settled, released := take("settled"), take("released")
	s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+settled.ID+"/settle", `{"status":200}`, "x-goog-api-key", key))
	s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+released.ID+"/release", ``, "x-goog-api-key", key))
	for _, c := range []struct {
		of                                    permitAnswer
		key, path, body, reason, class, about string
	}{
		{told, key, "/release", ``, "PERMIT_IN_USE", "interactive", "chat"},
		{settled, key, "/release", ``, "PERMIT_SETTLED", "interactive", "chat"},
		{released, key, "/extend", ``, "PERMIT_RELEASED", "interactive", "chat"},
		{settled, key, "", strings.Replace(onePermit, "hello", "bye", 1), "PERMIT_REQUEST_ID_REUSED", "interactive", "chat"},
		{settled, other, "/release", ``, "PERMIT_NOT_FOUND", "bulk", "night"},
	} {
		path := permitsPath + "/" + c.of.ID + c.path
		if c.path == "" {
			path, c.body = permitsPath, strings.TrimSuffix(c.body, "}")+`,"request_id":"settled","method":"streamGenerateContent"}`
		}
		got := s.exchange(true, http.MethodPost, path, c.body, "x-goog-api-key", c.key)
		x := s.infoOf(got)
		if m := x.Metadata; x.Reason != c.reason || m["permit"] != c.of.ID || m["class"] != c.class || m["feature"] != c.about || m["project"] != "proj" ||
			m["type"] != "request_refused" || m["gateway_decision"] != "rejected_locally" || m["trace_id"] == "" || m["trace_id"] != got.header.Get(headerTraceID) || (m["trace_id"] == c.of.TraceID) != (c.key == key) {
			t.Errorf("%s: %+v", c.reason, x)
		}
	}
}

// TestUnknownModelSaysWhose: the refusal and the log name class, feature and trace,
// for permits and for calls.
func TestUnknownModelSaysWhose(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	for path, body := range map[string]string{permitsPath: `{"model":"gemini-9","request":` + question + `}`, "/v1beta/models/gemini-9:generateContent": question} {
		got := s.send(http.MethodPost, path, body, "x-goog-api-key", key)
		x := s.infoOf(got)
		if m := x.Metadata; got.status != http.StatusNotFound || x.Reason != "UNKNOWN_LANE" || m["class"] != "interactive" || m["feature"] != "chat" || m["model"] != "gemini-9" ||
			m["trace_id"] == "" || m["trace_id"] != got.header.Get(headerTraceID) {
			t.Errorf("%s: %d %+v", path, got.status, x)
		}
	}
	if log := s.log.String(); strings.Contains(log, `class=""`) || strings.Contains(log, `feature=""`) || !strings.Contains(log, "feature=chat") {
		t.Error(log)
	}
	s.redis.SetError("LOADING Redis is loading the dataset in memory")
	got := s.exchange(true, http.MethodGet, permitsPath+"/p_"+strings.Repeat("0", 32), "", "x-goog-api-key", key)
	if m := s.infoOf(got).Metadata; m["trace_id"] != got.header.Get(headerTraceID) || m["project"] != "proj" || m["class"] != "interactive" {
		t.Errorf("while Redis is away: %v", m)
	}
}

// TestPermitOfAnAlias: the answer and the refusal name the model that is meant, in a
// header that is described.
func TestPermitOfAnAlias(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{models: []gemini.Model{{Name: "gemini-small", Context: 1000}}, transport: func(c *gemini.TransportConfig) {
		var err error
		if c.Routes, err = gemini.NewRoutes(gemini.RoutesConfig{Lanes: c.Lanes, Aliases: map[string]string{"fast": "gemini-small"}}); err != nil {
			t.Fatal(err)
		}
	}})
	key := s.chat()
	for amount, status := range map[string]int{"1": http.StatusOK, "1001": http.StatusBadRequest} {
		got := s.exchange(true, http.MethodPost, permitsPath, `{"model":"fast","amounts":{"input_tokens":`+amount+`}}`, "x-goog-api-key", key)
		if got.status != status || got.header.Get(gemini.HeaderModel) != "gemini-small" {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	}
}
