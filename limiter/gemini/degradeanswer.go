package gemini

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// zeroUsage is the usageMetadata of an answer that took nothing.
const zeroUsage = `{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":0}`

// answerWith puts what a Degrader found into Gemini's own shape, unary or as a
// stream, as the caller asked.
func (c *call) answerWith(req *http.Request, a DegradedAnswer) *http.Response {
	body, kind := c.wholeAnswer(a), "application/json; charset=UTF-8"
	if c.route.rule.stream {
		body, kind = asStream(body, req.URL.RawQuery)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: req,
	}
}

// wholeAnswer is the answer as one document: the model's own earlier one with a
// usage of nothing, or a text as its only part.
func (c *call) wholeAnswer(a DegradedAnswer) []byte {
	doc := map[string]json.RawMessage{}
	if a.Text != "" || json.Unmarshal(a.Body, &doc) != nil {
		doc = textAnswer(a.Text)
	}
	doc["usageMetadata"] = json.RawMessage(zeroUsage)
	if doc["modelVersion"] == nil {
		doc["modelVersion"] = quote("nightshift-" + string(a.Kind))
	}
	if doc["responseId"] == nil {
		doc["responseId"] = quote(c.obs.TraceID)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // it was read as JSON, or made here
	}
	return b
}

func textAnswer(text string) map[string]json.RawMessage {
	return map[string]json.RawMessage{
		"candidates": json.RawMessage(`[{"content":{"parts":[{"text":` + string(quote(text)) + `}],"role":"model"},"finishReason":"STOP","index":0}]`),
	}
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return b
}

// asStream is the document as the only event of a stream, or as the only
// element of the JSON array that a stream is without alt=sse.
func asStream(doc []byte, query string) (body []byte, kind string) {
	var b bytes.Buffer
	params, _ := url.ParseQuery(keptQuery(query))
	if params.Get("alt") == "sse" {
		b.WriteString("data: ")
		b.Write(doc)
		b.WriteString("\r\n\r\n")
		return b.Bytes(), "text/event-stream"
	}
	b.WriteByte('[')
	b.Write(doc)
	b.WriteByte(']')
	return b.Bytes(), "application/json; charset=UTF-8"
}
