package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

func (c *curlClient) post(path string, body any, sum summer) (result, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return result{}, err
	}
	return c.get(path, sum, "-H", "Content-Type: application/json", "-d", string(b))
}

func (c *curlClient) get(path string, sum summer, args ...string) (result, error) {
	got, err := c.curl(c.ctx, nil, path+"?key="+c.plan.Key, args...)
	if err != nil {
		return result{}, err
	}
	return got.result(sum)
}

// stream reads a stream of events, or of an array's elements, as each comes.
func (c *curlClient) stream(task, model, query string) (result, error) {
	var all []*genai.GenerateContentResponse
	text := ""
	got, err := c.open(c.ctx, task, model, query, func(r *genai.GenerateContentResponse) {
		all = append(all, r)
		text += r.Text()
		c.emit(line{Task: task, Chunk: len(all)})
	})
	if err != nil || got.status == 200 && len(all) == 0 {
		return result{}, fmt.Errorf("no stream: %d %s, %w", got.status, got.body, err)
	}
	return got.result(func([]byte) (map[string]any, error) {
		return tokensOf(all[len(all)-1], map[string]any{"text": text, "chunks": len(all)}), nil
	})
}

// broken reads a stream that does not end well.
func (c *curlClient) broken(task, model string) (result, error) {
	text := ""
	got, err := c.open(c.ctx, task, model, "alt=sse&", func(r *genai.GenerateContentResponse) { text += r.Text() })
	return result{sum: map[string]any{"text": text}, seen: []any{got.body, fmt.Sprint(err)}}, nil
}

// abort ends curl when it has printed an event.
func (c *curlClient) abort() (result, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	first := ""
	_, err := c.open(ctx, "abort", c.plan.Long, "alt=sse&", func(r *genai.GenerateContentResponse) {
		first += r.Text()
		cancel()
	})
	var killed *exec.ExitError
	return result{sum: map[string]any{"first": first, "aborted": errors.As(err, &killed)}}, nil
}

// open tells of each answer in a stream. What is between them, or no answer, is left out.
func (c *curlClient) open(ctx context.Context, prompt, model, query string, each func(*genai.GenerateContentResponse)) (curled, error) {
	b, err := json.Marshal(c.asking(prompt))
	if err != nil {
		return curled{}, err
	}
	return c.curl(ctx, func(l string) {
		r := &genai.GenerateContentResponse{}
		if json.Unmarshal([]byte(strings.Trim(strings.TrimPrefix(l, "data: "), "[],\r\n")), r) == nil {
			each(r)
		}
	}, "/v1beta/models/"+model+":streamGenerateContent?"+query+"key="+c.plan.Key, "-H", "Content-Type: application/json", "-d", string(b))
}

// curled is an answer as curl prints it.
type curled struct {
	status int
	header http.Header
	body   string
}

// curl runs it with the headers in front; each is told each line of the body.
func (c *curlClient) curl(ctx context.Context, each func(string), path string, args ...string) (curled, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.plan.CA != "" {
		args = append(args, "--cacert", c.plan.CA)
	}
	cmd := exec.CommandContext(ctx, "curl", append([]string{"-sS", "-N", "-i", c.plan.Base + path}, args...)...)
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
	got.header = http.Header(header)
	for err == nil {
		var text string
		text, err = r.ReadString('\n')
		got.body += text
		if each != nil && text != "" {
			each(text)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return got, err
}
