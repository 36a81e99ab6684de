package cli

import (
	"context"
	"strings"

	"nightshift/limiter"
)

// checkScripts tries what every permit needs. Rights that are lacking otherwise show
// as a Redis that cannot be reached.
func checkScripts(ctx context.Context, lim *limiter.Redis) checkup {
	refused, err := lim.Probe(ctx)
	switch {
	case err != nil:
		return checkup{"scripts", verdictBad, firstLine(err.Error()), "let the Redis user run them: ACL SETUSER NAME " + rightsNeeded}
	case len(refused) > 0:
		_, why, _ := strings.Cut(refused[0], " ")
		return checkup{"scripts", verdictBad, strings.Join(commandsOf(refused), ", ") + ": " + firstLine(why), "give the Redis user all rights at once, or Redis the memory: ACL SETUSER NAME " + rightsNeeded}
	}
	return checkup{"scripts", verdictGood, "may do all that permits need", ""}
}

// commandsOf are the commands that a probe says are refused.
func commandsOf(refused []string) (out []string) {
	for _, r := range refused {
		command, _, _ := strings.Cut(r, " ")
		out = append(out, strings.ToLower(command))
	}
	return out
}

// checkKeyInUse says so where the provider refuses the fleet's key: that one is there
// says little then.
func (b *backend) checkKeyInUse(ctx context.Context) []checkup {
	open, err := b.lim.Breakers(ctx)
	if err != nil {
		return nil // checkScripts has said why
	}
	for _, s := range open {
		if s.Reason == limiter.ReasonCredentials {
			return []checkup{{"API key in use", verdictBad, "refused by the provider: " + orElse(s.Detail, "no reason given"), "give the gateways and workers a key that works, and start them anew; the first call that it answers lets all go on"}}
		}
	}
	return nil
}
