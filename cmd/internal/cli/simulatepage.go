package cli

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"nightshift/scheduler/sim"
)

// write writes the page to a file.
func (r simulation) write(file string, s *sim.Scenario) error {
	var b bytes.Buffer
	if err := r.page(s).html(&b, s.Location()); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // a page to be shown, as a report
}

// page is the comparison as a page: the table, and of each policy how the limit was used.
func (r simulation) page(s *sim.Scenario) reportPage {
	p := reportPage{Title: "Simulated: " + r.Scenario, Lead: orElse(r.About, "a simulated night"),
		Facts: [][2]string{{"starts", s.Begin().Format("Mon 2006-01-02 15:04 MST")}, {"lasts", s.Duration.String()}, {"seed", fmt.Sprint(r.Seed)}},
		Foot:  "Made by nightshift simulate; the same scenario gives the same result. Times are in " + zoneName(s.Location(), s.Begin()) + "."}
	p.Sections = append(p.Sections, pageSection{Title: "Compared", Table: r.table(), Notes: []string{failedWords, cameBackWords}})
	if len(r.Advice) > 0 {
		p.Sections = append(p.Sections, pageSection{Title: "What follows", Text: r.Advice})
	}
	for _, o := range r.Outcomes {
		p.Sections = append(p.Sections, pageSection{Title: o.Policy, Text: []string{o.Label}, Charts: []reportQuota{simulatedUse(o, s)}})
	}
	return p
}

// simulatedUse is what was used of the limit that binds, by the minute.
func simulatedUse(o *sim.Outcome, s *sim.Scenario) reportQuota {
	name, limit := s.Binding(o)
	q := reportQuota{Model: "the simulated model", Limit: name, Amount: limit, Least: limit, StepMS: time.Minute.Milliseconds()}
	for i, x := range o.Points {
		p := reportPoint{At: s.Begin().Add(time.Duration(i) * time.Minute), Bulk: ratio(x.Bulk, limit), People: ratio(x.People, limit)}
		if name == "input_tpm" {
			p.Bulk, p.People = ratio(x.BulkTokens, limit), ratio(x.PeopleTokens, limit)
		}
		if sum := p.Bulk + p.People; sum > q.Peak {
			q.Peak, q.PeakAt = sum, p.At
		}
		q.Average += p.Bulk + p.People
		q.Points = append(q.Points, p)
	}
	q.Average /= float64(max(1, len(q.Points)))
	return q
}
