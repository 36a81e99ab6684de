// Package tenants is what a provider project knows of those on whose behalf calls are
// made: tenants, the teams in them, their keys, what each may use, and what each used.
// The rules stand in Book; API serves them over HTTP. Limits and weights themselves are
// the limiter's overrides and keys are the gateway's: here is only what these do not
// keep, notes and tokens that look.
package tenants
