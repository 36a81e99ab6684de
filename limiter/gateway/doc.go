// Package gateway is Gemini's own HTTP API in front of the gate: whoever calls
// Gemini, in any language, changes a base URL and nothing else. It finds out
// who calls (Keys), hands the call to the governed transport of limiter/gemini,
// and says a refusal in Gemini's own error shape. It decides nothing about
// quota itself, and it keeps and logs no key, prompt or answer.
package gateway
