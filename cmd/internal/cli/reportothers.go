package cli

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// ofAnother holds for what happened to another run, by its subject ("ID", "run/ID", or
// such a one and a limit or reason) or by what it names.
func (r *runReport) ofAnother(e limiter.Event, others map[string]string) bool {
	id, node := strings.CutPrefix(firstWord(e.Subject), "run/")
	_, other := others[id]
	switch {
	case id == r.Run.ID:
		return false
	case other, node, e.Kind == scheduler.EventRun:
		return true
	case namesRun(e.Text, r.Run.ID) || namesRun(e.Text, r.Run.Title()):
		return false
	}
	for id, title := range others {
		if namesRun(e.Text, id) || namesRun(e.Text, title) {
			return true
		}
	}
	return false
}

// namesRun tells that a text speaks of a run by its id or title: "run night", "run/7f3a".
func namesRun(text, run string) bool {
	for _, word := range []string{"run ", "run/"} {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, word+run)
			if !found {
				break
			}
			if next, _ := utf8.DecodeRuneInString(after); after == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next) && !strings.ContainsRune("-_.@", next) {
				return true
			}
			rest = after
		}
	}
	return false
}

// otherRunTitles are the titles of the runs that this one is not, by their ids; those that
// were purged too.
func (b *backend) otherRunTitles(ctx context.Context, run string) (map[string]string, error) {
	titles, err := b.runTitles(ctx)
	delete(titles, run)
	return titles, err
}

// ofOthers holds for what happened to somebody whom the run's calls are not counted
// for: another model, class, tenant, team, key or feature, or a run that is purged.
func (r *runReport) ofOthers(e limiter.Event) bool {
	subject := firstWord(e.Subject)
	switch lane, err := limiter.ParseLane(subject); {
	case subject == r.Run.ID:
		return false
	case err == nil:
		return lane.String() != r.Run.Spec.Lane
	case strings.HasPrefix(subject, "bulk-"):
		return !slices.Contains(jobs.Queues(r.Run.Spec.Lane), subject)
	case subject == "weights":
		return r.nodesOfOthers(e.Text)
	case slices.Contains(classNames(), e.Subject):
		return e.Subject != r.Run.Spec.Class
	}
	return purgedRun.MatchString(subject) || r.nodeOfOthers(subject)
}

// purgedRun is the shape of a run's id: of one that is in no list any more, since those
// that are have been told apart before.
var purgedRun = regexp.MustCompile(`^[0-9a-z]{12}$`)

// nodesOfOthers holds for a text that names nodes, none of which counts the run.
func (r *runReport) nodesOfOthers(text string) bool {
	others := 0
	for _, w := range strings.Fields(text) {
		if r.nodeOfOthers(w) {
			others++
		} else if strings.Contains(w, "/") {
			return false
		}
	}
	return others > 0
}

// nodeOfOthers holds for a node that does not count the run's calls.
func (r *runReport) nodeOfOthers(node string) bool {
	kind, id, ok := strings.Cut(strings.TrimSuffix(node, ":"), "/")
	if !ok || id == "*" {
		return false
	}
	s := r.Run.Spec
	own, known := map[string]string{"organization": s.Organization, "tenant": s.Tenant, "team": s.Team, "key": "", "feature": s.Feature, "run": r.Run.ID}[kind]
	return known && id != own
}

// firstWord is what an alert or event is about, without what of it: "tenant/acme" of
// "tenant/acme usd_per_day".
func firstWord(subject string) string {
	word, _, _ := strings.Cut(subject, " ")
	return word
}
