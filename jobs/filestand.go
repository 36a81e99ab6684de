package jobs

import (
	"context"
	"encoding/json"
	"fmt"
)

// fileRow is the last line of a row in a results file.
type fileRow struct {
	key    digest // zero unless the answer is good
	fields digest
}

// StandInFile is Stand beside a results file of `run` instead of an earlier run: Stale
// are rows whose good answer there was made from something else, Open those that it has
// without a good answer, which `run` asks again. l is what LookUp found, nil when nothing
// is taken over. A file that is not there has no row; nothing is written.
func StandInFile(ctx context.Context, path string, p *Prepared, l *Lookup) (Stand, error) {
	had, err := fileRows(ctx, path)
	if err != nil {
		return Stand{}, fmt.Errorf("comparing with %s: %w", path, err)
	}
	s := fileStand{had: had, taken: l}
	if err := p.Each(ctx, s.add); err != nil {
		return s.Stand, err
	}
	if s.fields > 0 {
		s.Why = append(s.Why, StaleWhy{"the rows' fields", s.fields})
	}
	if rest := s.Stale - s.fields; rest > 0 {
		s.Why = append(s.Why, StaleWhy{"template, model, settings or files", rest})
	}
	return s.Stand, nil
}

type fileStand struct {
	Stand
	had    map[digest]fileRow
	taken  *Lookup
	fields int64 // stale rows whose fields are others
}

func (s *fileStand) add(row RenderedRow) error {
	was, known := s.had[digestOf(row.ID)]
	switch k := keyOf(row); {
	case known && was.key == digestOf(row.Key), s.taken.row(k) > 0:
		s.Same++
	case s.taken.has(k):
		s.Unseen++
	case !known:
		s.New++
	case was.key == digest{}:
		s.Open++
	default:
		s.Stale++
		return s.compare(was, row)
	}
	return nil
}

// compare looks for why a row is stale.
func (s *fileStand) compare(was fileRow, row RenderedRow) error {
	now, err := lineFields(string(row.Fields))
	if err == nil && digestOf(string(now)) != was.fields {
		s.fields++
	}
	return err
}

// fileRows reads what a results file has of each row; a line that is no result is passed
// over.
func fileRows(ctx context.Context, path string) (map[digest]fileRow, error) {
	had := map[digest]fileRow{}
	err := eachLineOf(ctx, path, func(_ uint32, line []byte) error {
		var r struct {
			Row    string          `json:"id"`
			Status string          `json:"status"`
			Key    string          `json:"key"`
			Fields json.RawMessage `json:"fields"`
		}
		if json.Unmarshal(line, &r) != nil || r.Row == "" {
			return nil
		}
		now := fileRow{fields: digestOf(string(r.Fields))}
		if ParseState(r.Status).Good() && r.Key != "" {
			now.key = digestOf(r.Key)
		}
		had[digestOf(r.Row)] = now
		return nil
	})
	return had, err
}
