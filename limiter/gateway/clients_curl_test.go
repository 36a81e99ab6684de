package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// curlClient calls with the key in the query, as many scripts do, and reads
// answers as they stand.
type curlClient struct {
	ctx  context.Context
	plan plan
	emit func(line)
}

func curlMissing() string { return absent("curl") }

func runCurl(ctx context.Context, p plan, emit func(line)) error {
	c := &curlClient{ctx, p, emit}
	for _, task := range p.Tasks {
		r, err := c.do(task)
		if err != nil {
			r = result{sum: map[string]any{"error": err.Error()}}
		}
		if r.sum != nil {
			emit(line{Task: task, Sum: generic(r.sum).(map[string]any), Seen: generic(r.seen), Words: r.words})
		}
	}
	return nil
}

func (c *curlClient) do(task string) (result, error) {
	p, prompts := c.plan, c.plan.Prompts
	switch task {
	case "unary":
		return c.generate(p.Base, p.Key, p.Model, task, unarySum)
	case "call":
		return c.call()
	case "schema":
		body := map[string]any{"contents": contentsOf(prompts[task]),
			"generationConfig": map[string]any{"responseMimeType": "application/json", "responseJsonSchema": p.Schema}}
		return c.post(p.Base, p.Key, p.Model+":generateContent", body, schemaSum)
	case "stream", "slow":
		return c.stream(task, p.Model, "alt=sse&")
	case "flush":
		return c.stream(task, p.Stepped, "alt=sse&")
	case "array":
		return c.stream(task, p.Model, "")
	case "midway":
		return c.broken(task, p.Midway)
	case "cut":
		return c.broken(task, p.Cut)
	case "abort":
		return c.abort()
	case "embed":
		return c.post(p.Base, p.Key, p.Embedding+":embedContent", c.embedding(prompts["embed"]), embedSum)
	case "embeds":
		return c.post(p.Base, p.Key, p.Embedding+":batchEmbedContents",
			map[string]any{"requests": []any{c.embedding(prompts["embed"]), c.embedding(prompts["unary"])}}, embedSum)
	case "count":
		return c.post(p.Base, p.Key, p.Model+":countTokens", map[string]any{"contents": contentsOf(prompts["count"])}, countSum)
	case "list":
		return c.get("models", listSum)
	case "get":
		return c.get("models/"+p.Model, getSum)
	case "unserved":
		return c.get("files", nil)
	}
	return c.refused(task)
}

// refused does the tasks that end in an error.
func (c *curlClient) refused(task string) (result, error) {
	p := c.plan
	base, key, model := p.Base, p.Key, p.Model
	switch task {
	case "quotastream":
		return c.stream(task, p.Limited, "alt=sse&")
	case "refused":
		model = p.Refused
	case "broken":
		model = p.Broken
	case "badkey":
		key = p.BadKey
	case "doubled":
		base += "/v1beta"
	case "quota":
		model = p.Limited
		if _, err := c.generate(base, key, model, "quota", unarySum); err != nil {
			return result{}, err
		}
	default: // a script writes its URLs itself: there is no base with a slash
		return result{}, nil
	}
	return c.generate(base, key, model, "unary", unarySum)
}

func contentsOf(text string) []any {
	return []any{map[string]any{"parts": []any{map[string]any{"text": text}}}}
}

func (c *curlClient) embedding(text string) map[string]any {
	return map[string]any{"model": "models/" + c.plan.Embedding, "content": map[string]any{"parts": []any{map[string]any{"text": text}}},
		"taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 8}
}

func (c *curlClient) generate(base, key, model, prompt string, sum summer) (result, error) {
	return c.post(base, key, model+":generateContent", map[string]any{"contents": contentsOf(c.plan.Prompts[prompt])}, sum)
}

func (c *curlClient) post(base, key, path string, body any, sum summer) (result, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return result{}, err
	}
	got, err := c.curl(nil, base+"/v1beta/models/"+path+"?key="+key, "-H", "Content-Type: application/json", "-d", string(b))
	if err != nil {
		return result{}, err
	}
	return got.result(sum)
}

func (c *curlClient) get(path string, sum summer) (result, error) {
	got, err := c.curl(nil, c.plan.Base+"/v1beta/"+path+"?key="+c.plan.Key)
	if err != nil {
		return result{}, err
	}
	return got.result(sum)
}

// curled is an answer as curl prints it.
type curled struct {
	status int
	header http.Header
	body   string
}

// curl runs it with the headers in front; each is told each line of the body.
func (c *curlClient) curl(each func(string), url string, args ...string) (curled, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "curl", append([]string{"-sS", "-N", "-i", url}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return curled{}, err
	}
	if err := cmd.Start(); err != nil {
		return curled{}, err
	}
	got, err := readCurl(bufio.NewReader(out), each)
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("curl: %w: %s", waited, &stderr)
	}
	return got, err
}

func readCurl(r *bufio.Reader, each func(string)) (got curled, err error) {
	tp := textproto.NewReader(r)
	status, err := tp.ReadLine()
	if err != nil {
		return got, err
	}
	if fields := strings.Fields(status); len(fields) > 1 {
		got.status, _ = strconv.Atoi(fields[1])
	}
	header, err := tp.ReadMIMEHeader()
	if err != nil {
		return got, err
	}
	got.header = http.Header(header)
	for {
		text, err := r.ReadString('\n')
		got.body += text
		if each != nil && text != "" {
			each(text)
		}
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}
