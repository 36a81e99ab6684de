package gemini

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// firstCloseCode is where the close codes of WebSocket begin; statuses of HTTP
// end long before (RFC 6455, 7.4).
const firstCloseCode = 1000

// pageBytes of an HTML page are read for the status that it shows.
const pageBytes = 2 << 10

// statusInside gives the HTTP status that an answer without one stands for, or one
// with a 200: by its codes, by its words, or by how the connection was closed.
func (e *evidence) statusInside(given int) int {
	if e.status >= 400 {
		return e.status
	}
	for _, c := range codeStatus {
		if e.codes[c.code] || e.bare && strings.Contains(c.code, "_") && strings.Contains(e.text, c.code) {
			return c.status
		}
	}
	if !e.bare {
		return e.status
	}
	if n := wordedStatus(e.text); n > 0 {
		return n
	}
	return e.closeStatus(given)
}

// worded is how texts name a status: "[429 Too Many Requests]", "Status: 500",
// "HTTP/1.1 503", "<title>Error 502 (Server Error)".
var worded = regexp.MustCompile(`(?:(?:status|code|error|http)(?:/[\d.]+)?[^a-z0-9]{1,3}|[\[>]|^)([45]\d\d)\b`)

// wordedBytes of a text are looked through for it.
const wordedBytes = 4 << 10

func wordedStatus(text string) int {
	m := worded.FindStringSubmatch(text[:min(len(text), wordedBytes)])
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// closeCode is one of WebSocket's in a text: "code 1011, …".
var closeCode = regexp.MustCompile(`\b10(?:0\d|1[0-5])\b`)

// closeStatus is the HTTP status that comes nearest to how a Live API session was
// closed. Of quotas and money it only tells in words, under 1011 or 1008.
func (e *evidence) closeStatus(code int) int {
	if code < firstCloseCode {
		code, _ = strconv.Atoi(closeCode.FindString(e.text[:min(len(e.text), wordedBytes)]))
	}
	switch {
	case code < firstCloseCode:
		return 0
	case e.said("quota", "rate limit"):
		return http.StatusTooManyRequests
	case e.said("not found", "not supported for"):
		return http.StatusNotFound
	}
	switch code {
	case 1003, 1007, 1009, 1010:
		return http.StatusBadRequest
	case 1008:
		return http.StatusForbidden
	case 1012, 1013:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
