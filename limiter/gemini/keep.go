package gemini

import "encoding/json"

// keeper is who wants this call's answer again; nil for nobody. What another
// model answered in the place of one is never kept as that one's.
func (c *call) keeper() Keeper {
	k, ok := c.t.cfg.Degrade.(Keeper)
	if !ok || !c.mayDegrade() || !k.Keeps(c.asRequest()) {
		return nil
	}
	return k
}

// keep hands a whole answer over when it is good: every candidate ended by
// itself, nothing was blocked or cut.
func (c *call) keep(body []byte) {
	if c.obs.Verdict != nil || c.obs.Status/100 != 2 || len(body) > mostAnswer || !allStopped(body) {
		return
	}
	if k := c.keeper(); k != nil {
		k.Keep(c.ctx, c.asRequest(), body)
	}
}

// allStopped says that every candidate came to its own end.
func allStopped(body []byte) bool {
	var doc struct {
		Candidates []struct{ FinishReason string }
	}
	if json.Unmarshal(body, &doc) != nil {
		return false
	}
	for _, c := range doc.Candidates {
		if c.FinishReason != "STOP" {
			return false
		}
	}
	return len(doc.Candidates) > 0
}

// collect keeps a stream's bytes for the end. One that is longer than any answer
// that is kept is let go.
func (s *streamBody) collect(p []byte) {
	if !s.keeping {
		return
	}
	if s.kept = append(s.kept, p...); len(s.kept) > mostKept {
		s.keeping, s.kept = false, nil
	}
}

// mostKept bounds the bytes of a stream, whose events say more than the one
// answer that is made of them.
const mostKept = 4 * mostAnswer

// keep makes one answer of the stream, once. s.mu is held.
func (s *streamBody) keep(cause error) {
	if !s.keeping || cause != nil {
		s.keeping, s.kept = false, nil
		return
	}
	raw := s.kept
	s.keeping, s.kept = false, nil
	if doc, ok := mergeStream(raw); ok && s.call.obs.Verdict == nil {
		s.call.keep(doc)
	}
}
