package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// served serves the setup's gateway as the program does, and gives the address.
func (s *setup) served(server Server) string {
	s.Helper()
	l, err := Listen("127.0.0.1:0")
	s.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server.Logger = s.log.logger()
	go func() { ended <- server.Serve(ctx, l, s.gate) }()
	s.Cleanup(func() {
		stop()
		<-ended
	})
	return l.Addr().String()
}

// raw sends bytes as they are and reads one answer.
func (s *setup) raw(addr, request string) answer {
	s.Helper()
	c, err := net.Dial("tcp", addr)
	s.must(err)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, request) }() // it may be answered before all of it was read
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return answer{body: err.Error()}
	}
	return read(s.T, resp)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// TestBadInput: whatever is sent that is no call, there is an error in Gemini's
// shape, no permit, no call, and no key in any log or answer.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	addr, key := s.served(Server{}), s.chat()
	_, err := s.keys.Adopt(t.Context(), theirKey, Identity{Name: "theirs", Project: "proj", Class: "bulk", Feature: "x"})
	s.must(err)
	auth := "Host: g\r\nX-Goog-Api-Key: " + key + "\r\n"
	post := func(path, body string, header ...string) string {
		return "POST " + path + " HTTP/1.1\r\n" + auth + strings.Join(append(header, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
	}
	line := func(line string) string { return line + "\r\n" + auth + "\r\n" }
	model := "/v1beta/models/" + flash
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, c := range map[string]struct {
		request string
		status  int
		text    string
	}{
		"encoded dots":          {post("/v1beta/models/%2e%2e/%2e%2e/v1beta/files?key="+theirKey, question), 400, "escaped"},
		"encoded slash":         {post(model+"%2ffiles:generateContent", question), 400, "escaped"},
		"encoded twice":         {post(model+"%253AgenerateContent", question), 400, "escaped"},
		"semicolon":             {post(model+";x=y:generateContent", question), 400, "not a model"},
		"fragment":              {post(model+"#x:generateContent", question), 400, ""},
		"unknown method":        {post(model+":predict", question), 404, "not one that goes"},
		"batch":                 {post(model+":batchGenerateContent", question), 404, "batchGenerateContent"},
		"caches":                {post("/v1beta/cachedContents", question), 404, "cachedContents"},
		"caches of a model":     {post(model+"/cachedContents", question), 400, "not a model"},
		"files":                 {line("GET /v1beta/files HTTP/1.1"), 404, "files"},
		"wrong version":         {post("/v2/models/"+flash+":generateContent", question), 404, "not Gemini's"},
		"the version twice":     {post("/v1beta"+model+":generateContent", question), 404, "twice"},
		"two credentials":       {post(generate, question, "Authorization: Bearer "+theirKey), 400, "two different"},
		"two in the query":      {post(generate+"?key="+theirKey+"&key="+key, question), 400, "two different"},
		"Basic":                 {post(generate, question, "Authorization: Basic "+theirKey), 400, "Bearer"},
		"text":                  {post(generate, "hello"), 400, "JSON"},
		"nothing":               {post(generate, ""), 400, "JSON"},
		"an array":              {post(generate, "["+question+"]"), 400, "JSON"},
		"a number":              {post(generate, "12"), 400, "JSON"},
		"null":                  {post(generate, "null"), 400, "JSON"},
		"half":                  {post(generate, question[:20]), 400, "JSON"},
		"two documents":         {post(generate, question+question), 400, "JSON"},
		"NUL":                   {post(generate, "\x00"+question), 400, "JSON"},
		"NUL in a text":         {post(generate, strings.Replace(question, "hello", "a\x00b", 1)), 400, "JSON"},
		"no UTF-8":              {post(generate, strings.Replace(question, "hello", "a\xff\xfeb", 1)), 400, "UTF-8"},
		"deep":                  {post(generate, `{"contents":`+deep+`}`), 400, "JSON"},
		"stream of text":        {post(stream, "hello"), 400, "JSON"},
		"countTokens of text":   {post(model+":countTokens", "hello"), 400, "JSON"},
		"countTokens, array":    {post(model+":countTokens", "[1]"), 400, "JSON"},
		"countTokens, deep":     {post(model+":countTokens", `{"contents":`+deep+`}`), 400, "JSON"},
		"embed text":            {post("/v1beta/models/gemini-embedding-001:embedContent", "hello"), 400, "JSON"},
		"embed an array":        {post("/v1beta/models/gemini-embedding-001:embedContent", "[]"), 400, "JSON"},
		"batch of text":         {post("/v1beta/models/gemini-embedding-001:batchEmbedContents", `"hello"`), 400, "JSON"},
		"gzip":                  {post(generate, zipped(question), "Content-Encoding: gzip"), 415, "gzip"},
		"gzip unannounced":      {post(generate, zipped(question)), 400, "JSON"},
		"25 MB":                 {"POST " + generate + " HTTP/1.1\r\n" + auth + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", 25<<20), 413, "22020096 bytes"},
		"an expectation":        {post(generate, question, "Expect: tea"), 417, "only 100-continue"},
		"many headers":          {post(generate, question, strings.Repeat("X-Flood: "+strings.Repeat("f", 500)+"\r\n", 80)+"X-Last: 1"), 431, "headers"},
		"far too many headers":  {post(generate, question, strings.Repeat("X-Flood: "+strings.Repeat("f", 500)+"\r\n", 800)+"X-Last: 1"), 431, "Header Fields Too Large"},
		"an endless line":       {line("POST /v1beta/models/" + strings.Repeat("x", 400_000) + ":generateContent HTTP/1.1"), 431, "Header Fields Too Large"},
		"websocket":             {post(generate, question, "Connection: Upgrade", "Upgrade: websocket"), 400, "upgrade"},
		"GET":                   {line("GET " + generate + " HTTP/1.1"), 405, "POST"},
		"TRACE":                 {line("TRACE " + generate + " HTTP/1.1"), 405, "POST"},
		"OPTIONS":               {line("OPTIONS " + generate + " HTTP/1.1"), 405, "POST"},
		"OPTIONS of all":        {line("OPTIONS * HTTP/1.1"), 404, "nothing is served"},
		"CONNECT":               {line("CONNECT generativelanguage.googleapis.com:443 HTTP/1.1"), 404, "nothing is served"},
		"a proxy's line":        {post("http://generativelanguage.googleapis.com"+generate, question), 400, "no proxy"},
		"a proxy's line, TLS":   {post("https://g"+generate+"?key="+key, question), 400, "no proxy"},
		"no Host":               {"POST " + generate + " HTTP/1.1\r\nX-Goog-Api-Key: " + key + "\r\nContent-Length: 0\r\n\r\n", 400, "Host"},
		"two Hosts":             {post(generate, question, "Host: h"), 400, "Bad Request"},
		"a Host that is none":   {"POST " + generate + " HTTP/1.1\r\nHost: a b\r\nX-Goog-Api-Key: " + key + "\r\n\r\n", 400, "Host"},
		"two lengths":           {post(generate, question, "Content-Length: 3"), 400, "Bad Request"},
		"a length that is none": {"POST " + generate + " HTTP/1.1\r\n" + auth + "Content-Length: -5\r\n\r\n", 400, "Bad Request"},
		"strange coding":        {"POST " + generate + " HTTP/1.1\r\n" + auth + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "transfer encoding"},
		"bad chunks":            {"POST " + generate + " HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "could not be read"},
		"no header":             {"POST " + generate + " HTTP/1.1\r\n" + auth + "no header at all\r\n\r\n", 400, "Bad Request"},
		"folded header":         {"POST " + generate + " HTTP/1.1\r\n folded\r\n" + auth + "\r\n", 400, ""},
		"HTTP/0.9":              {"GET " + generate + "?key=" + key + "\r\n\r\n", 400, "Bad Request"},
		"HTTP/3.0":              {line("GET " + generate + " HTTP/3.0"), 505, "version"},
		"HTTP/2 in the clear":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, "nothing is served"},
		"TLS in the clear":      {"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + strings.Repeat("\x00", 150) + "\r\n\r\n", 400, "Bad Request"},
	} {
		got := s.raw(addr, c.request)
		if got.status != c.status {
			t.Errorf("%s: %d, want %d: %.300s", name, got.status, c.status, got.body)
			continue
		}
		if e := s.rpcError(got); !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %q, want one with %q", name, e.Message, c.text)
		}
		for who, k := range map[string]string{"ours": key, "theirs": theirKey} {
			if strings.Contains(got.body, k) || strings.Contains(fmt.Sprint(got.header), k) || strings.Contains(s.log.String(), k) {
				t.Errorf("%s: %s is in the answer or the log", name, who)
			}
		}
		if n, used, open := len(s.sim.Calls()), s.used("rpm"), s.state().InFlight; n != 0 || used != 0 || open != 0 {
			t.Fatalf("%s: %d calls were made, %d requests charged, %d permits are open", name, n, used, open)
		}
	}
	if s.log.String() == "" {
		t.Error("nothing was logged, so nothing was looked at")
	}
}

// TestOddButServed: what HTTP allows is served, once and by itself, whatever
// the client's ways.
func TestOddButServed(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	addr, key := s.served(Server{}), s.chat()
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(question), question)
	for name, request := range map[string]string{
		"HTTP/1.0":         "POST " + generate + " HTTP/1.0\r\nX-Goog-Api-Key: " + key + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(question)) + question,
		"any Host":         "POST " + generate + " HTTP/1.1\r\nHost: generativelanguage.googleapis.com\r\nX-Goog-Api-Key: " + key + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(question)) + question,
		"chunks":           "POST " + generate + " HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: " + key + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
		"chunks, a length": "POST " + generate + " HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: " + key + "\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
	} {
		before := len(s.sim.Calls())
		if got := s.raw(addr, request); got.status != http.StatusOK || len(s.sim.Calls()) != before+1 {
			t.Errorf("%s: %d %s, %d calls", name, got.status, got.body, len(s.sim.Calls())-before)
		}
	}
}

// TestConnectionsAreBounded: slow clients cannot take more than there are, and
// whoever waits behind them is served when one of them ends.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	addr, key := s.served(Server{Conns: 3}), s.chat()
	var slow []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", addr)
		s.must(err)
		_, err = io.WriteString(c, "POST "+generate+" HTTP/1.1\r\nHost: g\r\n") // and never the rest
		s.must(err)
		slow = append(slow, c)
	}
	c, err := net.Dial("tcp", addr) // the system takes it, the server not yet
	s.must(err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", generate, key, len(question), question)
	s.must(err)
	s.eventually("it is said", func() bool { return strings.Contains(s.log.String(), "all connections are taken") })
	if n := len(s.sim.Calls()); n != 0 {
		t.Errorf("%d calls of a fourth connection", n)
	}
	for _, c := range slow {
		s.must(c.Close())
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	if got := read(t, resp); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestSlowHeaders: a request whose headers do not come to their end is given up
// after ten seconds, however it trickles.
func TestSlowHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, func(*http.Request) (*http.Response, error) {
			t.Error("a call was made")
			return nil, io.EOF
		})
		conn, err := v.conns.dial(t.Context(), "", "")
		v.must(err)
		begin, trickled := time.Now(), make(chan struct{})
		go func() {
			defer close(trickled)
			_, err := io.WriteString(conn, "POST "+generate+" HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: the-key\r\n")
			for err == nil {
				<-time.After(time.Second)
				_, err = io.WriteString(conn, "X-Slow: 1\r\n")
			}
		}()
		_, _ = io.Copy(io.Discard, conn)
		if took := time.Since(begin); took < readHeaderTime || took > readHeaderTime+2*time.Second {
			t.Errorf("the connection was open for %s", took)
		}
		v.must(conn.Close())
		<-trickled
		v.must(v.end())
	})
}
