package cli

import (
	"regexp"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// ofAnother holds for what happened to another run, by its subject or by what it names.
func (r *runReport) ofAnother(e limiter.Event, others map[string]bool) bool {
	if others[strings.TrimPrefix(firstWord(e.Subject), "run/")] || e.Kind == scheduler.EventRun && e.Subject != r.Run.ID {
		return true
	}
	for id, other := range others {
		if other && strings.Contains(e.Text, "run/"+id) && !strings.Contains(e.Text, r.Run.ID) {
			return true
		}
	}
	return false
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
