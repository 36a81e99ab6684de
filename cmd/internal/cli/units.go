package cli

import (
	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// unitNouns are what units count; money needs no word.
var unitNouns = map[limiter.Unit]string{
	limiter.Requests: "request", limiter.InputTokens: "input token", limiter.OutputTokens: "output token",
	limiter.TotalTokens: "token", limiter.Images: "image", limiter.Streams: "open stream",
}

// unitWords is an amount with what it counts.
func unitWords(u limiter.Unit, n int64) string {
	noun, counted := unitNouns[u]
	switch {
	case u == limiter.Concurrency && n == 1:
		return "1 call at once"
	case u == limiter.Concurrency:
		return humanize.Comma(n) + " calls at once"
	case !counted:
		return amount(u, n)
	case n == 1:
		return "1 " + noun
	}
	return humanize.Comma(n) + " " + noun + "s"
}

// inWindow says over which time something was used.
func inWindow(w limiter.Window) string {
	switch w {
	case limiter.Minute:
		return " in this minute"
	case limiter.TenMinutes:
		return " in these ten minutes"
	case limiter.Day:
		return " of this day in California"
	case limiter.Month:
		return " of this month"
	case limiter.Ever:
		return " in all"
	}
	return ""
}
