// Package gemini is the one way to the Gemini API. Transport is an
// http.RoundTripper that gives every HTTP request a permit of its own: it
// estimates, acquires, calls, classifies the raw answer, settles by the real
// usage and keeps a record. NewClient puts the genai SDK on top of it with
// hidden retries off. Recorder keeps the records in files, Meter counts them by
// model, class and feature for all processes together. It knows nothing of jobs,
// queues or how permits are kept.
package gemini
