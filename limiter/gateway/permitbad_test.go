package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"nightshift/limiter/gemini"
)

// TestPermitBadInput: whatever is asked that makes no sense, there is an error in
// Gemini's shape that names what is wrong, and no permit. What the description
// allows is never refused for its form, and the other way round.
func TestPermitBadInput(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{
		config: func(c *Config) { c.Bounds.Body = 1 << 20 },
		models: []gemini.Model{{Name: "gemini-small", Context: 1000}},
	})
	key := s.key("bulk", "")
	ask := func(fields string) string { return `{"model":"` + flash + `","feature":"f",` + fields + `}` }
	amounts := func(fields string) string { return ask(`"amounts":{"input_tokens":1,` + fields + `}`) }
	request := `"request":` + question
	for name, c := range map[string]struct {
		body   string
		status int
		text   string
		sound  bool // by the description
	}{
		"no JSON":            {`{"model":`, 400, "want a JSON object", false},
		"a list":             {`[]`, 400, "want a JSON object", false},
		"a text":             {`"x"`, 400, "want a JSON object", false},
		"nothing":            {``, 400, "model: must be set", false},
		"more after it":      {ask(request) + `{}`, 400, "nothing after", false},
		"unknown field":      {ask(request + `,"prompt":"x"`), 400, "unknown field", false},
		"unknown amount":     {amounts(`"micro_usd":1`), 400, "unknown field", false},
		"no model":           {`{` + request + `}`, 400, "model: must be set", false},
		"odd model":          {`{"model":"../x","feature":"f",` + request + `}`, 400, "is not a model", true},
		"unknown model":      {`{"model":"gemini-9","feature":"f",` + request + `}`, 404, "no limits are configured for", true},
		"a number for text":  {`{"model":7,` + request + `}`, 400, "model: want a string, not number", false},
		"unknown method":     {ask(`"method":"countTokens",` + request), 400, "method:", false},
		"neither":            {ask(`"wait_ms":1`), 400, "there are none", false},
		"both":               {ask(request + `,"amounts":{"input_tokens":1}`), 400, "there are both", false},
		"a list as request":  {ask(`"request":[]`), 400, "request:", false},
		"no input":           {ask(`"amounts":{"output_tokens":1}`), 400, "amounts.input_tokens: must be set", false},
		"negative input":     {ask(`"amounts":{"input_tokens":-1}`), 400, "amounts.input_tokens", false},
		"huge input":         {ask(`"amounts":{"input_tokens":1000000001}`), 400, "amounts.input_tokens", false},
		"beyond any number":  {ask(`"amounts":{"input_tokens":1e30}`), 400, "amounts.input_tokens: want a whole number, not number 1e30", false},
		"half a token":       {ask(`"amounts":{"input_tokens":1.5}`), 400, "amounts.input_tokens: want a whole number, not number 1.5", false},
		"no requests":        {amounts(`"requests":0`), 400, "amounts.requests", false},
		"many requests":      {amounts(`"requests":100001`), 400, "amounts.requests", false},
		"negative output":    {amounts(`"output_tokens":-1`), 400, "amounts.output_tokens", false},
		"negative images":    {amounts(`"images":-1`), 400, "amounts.images", false},
		"over the context":   {ask(`"amounts":{"input_tokens":1048577}`), 400, "context", true},
		"over the limit":     {amounts(`"requests":10001`), 400, "larger than rpm", true},
		"negative wait":      {ask(request + `,"wait_ms":-1`), 400, "wait_ms", false},
		"long wait":          {ask(request + `,"wait_ms":60001`), 400, "wait_ms", false},
		"no lease":           {ask(request + `,"lease_ms":0`), 400, "lease_ms", false},
		"long lease":         {ask(request + `,"lease_ms":3600001`), 400, "lease_ms", false},
		"odd request_id":     {ask(request + `,"request_id":"a b"`), 400, "request_id", false},
		"long request_id":    {ask(request + `,"request_id":"` + strings.Repeat("x", 129) + `"`), 400, "request_id", false},
		"a class above":      {ask(request + `,"class":"interactive"`), 403, "class bulk: class may lower it, it may not raise it", true},
		"unknown class":      {ask(request + `,"class":"vip"`), 400, "class: no such class", true},
		"odd feature":        {`{"model":"` + flash + `","feature":"A b",` + request + `}`, 400, "feature", true},
		"no feature":         {`{"model":"` + flash + `",` + request + `}`, 400, "feature", true},
		"a large ask":        {ask(`"amounts":{"input_tokens":` + strings.Repeat(" ", 1<<20) + `1}`), 413, "exceeds", true},
		"a prompt too large": {`{"model":"gemini-small","feature":"f","request":{"contents":[{"parts":[{"text":"` + strings.Repeat("word ", 10_000) + `"}]}]}}`, 400, "context", true},
	} {
		got := s.exchange(c.sound, http.MethodPost, permitsPath, c.body, "x-goog-api-key", key)
		if e := s.rpcError(got); got.status != c.status || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %d %s, want %d with %q", name, got.status, e.Message, c.status, c.text)
		}
		s.untouched()
	}
	if open := s.state().InFlight; open != 0 {
		t.Errorf("%d permits are open", open)
	}
	if log := s.log.String(); strings.Contains(log, key) {
		t.Error("a key is in the log")
	}
}

// TestPermitBadEnd: the same of what is said of a permit. It stays as it was.
func TestPermitBadEnd(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	one := permitsPath + "/" + s.permit(key).ID
	for name, c := range map[string]struct {
		path, body string
		status     int
		text       string
		sound      bool
	}{
		"nothing told":      {"/settle", `{}`, 400, "status: must be set", false},
		"nothing at all":    {"/settle", ``, 400, "status: must be set", false},
		"both usages":       {"/settle", `{"usage":{"input_tokens":1},"usageMetadata":{"totalTokenCount":1}}`, 400, "there are both", true},
		"usage of nothing":  {"/settle", `{"usageMetadata":{}}`, 400, "usageMetadata", true},
		"negative metadata": {"/settle", `{"usageMetadata":{"promptTokenCount":-5,"totalTokenCount":5}}`, 400, "usageMetadata", true},
		"negative usage":    {"/settle", `{"usage":{"input_tokens":-1}}`, 400, "usage.input_tokens", false},
		"huge usage":        {"/settle", `{"usage":{"output_tokens":1000000001}}`, 400, "usage.output_tokens", false},
		"cached too many":   {"/settle", `{"usage":{"input_tokens":1,"cached_tokens":2}}`, 400, "usage.cached_tokens", true},
		"unknown usage":     {"/settle", `{"usage":{"tokens":1}}`, 400, "unknown field", false},
		"odd status":        {"/settle", `{"status":99}`, 400, "status: 99", false},
		"odd finish":        {"/settle", `{"status":200,"finish_reason":"<b>"}`, 400, "finish_reason", false},
		"an error with 200": {"/settle", `{"status":200,"error":{"code":429}}`, 400, "error:", true},
		"negative latency":  {"/settle", `{"status":200,"latency_ms":-1}`, 400, "latency_ms", false},
		"first after last":  {"/settle", `{"status":200,"latency_ms":1,"first_token_ms":2}`, 400, "first_token_ms", true},
		"partial of none":   {"/settle", `{"partial":true,"status":200}`, 400, "usage so far", true},
		"a large end":       {"/settle", `{"status":` + strings.Repeat(" ", 1<<20) + `200}`, 413, "larger than", true},
		"a long lease":      {"/extend", `{"lease_ms":3600001}`, 400, "lease_ms", false},
		"a text as lease":   {"/extend", `{"lease_ms":"1h"}`, 400, "lease_ms: want a whole number, not string", false},
		"a text as partial": {"/settle", `{"status":200,"partial":"yes"}`, 400, "partial: want true or false, not string", false},
		"a text as latency": {"/settle", `{"status":200,"latency_ms":"1s"}`, 400, "latency_ms: want a number, not string", false},
		"a list as usage":   {"/settle", `{"usage":[]}`, 400, "usage: want an object, not array", false},
		"told at release":   {"/release", `{"status":200}`, 400, "unknown field", false},
		"another verb":      {"/steal", `{}`, 404, "settle, release or extend", false},
		"two verbs":         {"/settle/now", `{}`, 404, "settle, release or extend", false},
	} {
		got := s.exchange(c.sound, http.MethodPost, one+c.path, c.body, "x-goog-api-key", key)
		if e := s.rpcError(got); got.status != c.status || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %d %s, want %d with %q", name, got.status, e.Message, c.status, c.text)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{http.MethodGet, permitsPath, 405, "wants POST"}, {http.MethodPut, permitsPath, 405, "wants POST"}, {http.MethodDelete, one, 405, "wants GET"},
		{http.MethodGet, one + "/settle", 405, "wants POST"}, {http.MethodGet, permitsPath + "/x", 400, "no permit's id"},
		{http.MethodGet, permitsPath + "/", 400, "no permit's id"}, {http.MethodGet, permitsPath + "/p_" + strings.Repeat("A", 32), 400, "no permit's id"},
		{http.MethodGet, permitsPath + "/p_%2e%2e", 400, "escaped"}, {http.MethodGet, permitsPath + "//etc", 400, "no permit's id"},
		{http.MethodGet, permitsPath + "/p_" + strings.Repeat("0", 32), 404, "is not known"}, {http.MethodGet, permitsPath + "x", 404, "not served"},
	} {
		got := s.send(c.method, c.path, "", "x-goog-api-key", key)
		if e := s.rpcError(got); got.status != c.status || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, e.Message)
		}
	}
	if p := s.permitOf(s.exchange(true, http.MethodGet, one, "", "x-goog-api-key", key)); p.State != "open" {
		t.Errorf("%+v", p)
	}
}

// TestWhoseKeyEndsAPermit: only that of the identity which took it, and exactly one.
func TestWhoseKeyEndsAPermit(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key, other := s.chat(), s.chat()
	one := permitsPath + "/" + s.permit(key).ID
	for verb, body := range map[string]string{"/settle": `{"status":200}`, "/release": "", "/extend": ""} {
		got := s.exchange(true, http.MethodPost, one+verb, body, "x-goog-api-key", other)
		if e := s.rpcError(got); got.status != http.StatusNotFound || !strings.Contains(got.body, "PERMIT_NOT_FOUND") {
			t.Errorf("%s: %d %s", verb, got.status, e.Message)
		}
		for name, header := range map[string][]string{
			"403 unregistered":         {},
			"400 different credential": {"x-goog-api-key", key, "Authorization", "Bearer " + other},
			"400 not valid":            {"x-goog-api-key", "nsk_UNKNOWNUNKNOWN"},
			"415 Content-Encoding":     {"x-goog-api-key", key, "Content-Encoding", "gzip"},
		} {
			got := s.exchange(true, http.MethodPost, one+verb, body, header...)
			var status int
			var text string
			_, err := fmt.Sscan(name, &status, &text)
			s.must(err)
			if e := s.rpcError(got); got.status != status || !strings.Contains(e.Message, text) {
				t.Errorf("%s, %s: %d %s", verb, name, got.status, e.Message)
			}
		}
	}
	if p := s.permitOf(s.exchange(true, http.MethodPost, one+"/release", "", "Authorization", "Bearer "+key)); p.State != "released" || p.Charged["requests"] != 0 {
		t.Errorf("%+v", p)
	}
	s.untouched()
	off := start(t, knobs{config: func(c *Config) { c.Permits = nil }})
	off.refused(off.send(http.MethodPost, permitsPath, onePermit, "x-goog-api-key", off.chat()), http.StatusNotFound, "lends no permits")
}
