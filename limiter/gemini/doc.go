// Package gemini is the one way to the Gemini API. Transport is an
// http.RoundTripper that gives every HTTP request a permit of its own: it
// estimates, acquires, calls, classifies the raw answer, settles by the real
// usage and keeps a record. NewClient puts the genai SDK on top of it with
// hidden retries off. It knows nothing of jobs, queues or how permits are kept.
package gemini
