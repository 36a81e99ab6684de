// Package sim plays a night on a virtual clock: people who wait for answers, bulk rows
// behind them, and a provider that counts. It runs the shipped decisions (limiter.Model,
// what the worker does with a refusal, the health monitor's rules, the learned floors)
// against the quota rules of geminitest, and beside them what people use otherwise, so that
// they can be compared over the same calls. The same scenario gives the same result.
//
// It does not simulate Redis, HTTP or processes: a decision takes no time, nobody dies.
package sim
