package gemini

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"
)

// loopTime is how long after a step those that it moves finish a loop of function
// calls at the old model: the calls of one turn carry signatures of the model that
// made them, which another one may refuse
// (https://ai.google.dev/gemini-api/docs/thought-signatures).
const loopTime = 10 * time.Minute

// takes says whether a ramp moves a call: whether its caller is among the share.
func (r *Ramp) takes(c Caller, body []byte, now time.Time) bool {
	share := r.SharePPM()
	if share == 0 || share == ppmWhole && r.Before == ppmWhole {
		return share > 0
	}
	if r.Before < share && now.Sub(r.Changed) < loopTime && inLoop(body) {
		share = r.Before
	}
	return share == ppmWhole || r.position(r.who(c, body)) < share
}

// position is where somebody stands among all, in ppm: the share moves those that
// stand before it, so whom a step has moved the next one moves too.
func (r *Ramp) position(who string) int64 {
	sum := sha256.Sum256([]byte(r.Seed + "\x00" + who))
	return int64(binary.BigEndian.Uint64(sum[:]) % ppmWhole)
}

// who names what keeps to one model.
func (r *Ramp) who(c Caller, body []byte) string {
	if r.Sticky == StickyKey && c.Path.Key != "" {
		return "key " + c.Path.Key
	}
	if c.Session != "" {
		return "session " + c.Path.Key + "\x00" + c.Session
	}
	if r.Sticky == StickyConversation {
		if begin := opening(body); begin != "" {
			return "conversation " + c.Path.Key + "\x00" + begin
		}
	}
	return "call " + c.TraceID
}

// opening is what a conversation begins with, and every turn of it sends again: the
// text of its first content, or that content as it is.
func opening(body []byte) string {
	first := firstContent(body)
	var content struct{ Parts []struct{ Text string } }
	if json.Unmarshal(first, &content) != nil {
		return string(first) // a text alone, or what the provider will refuse
	}
	var texts []string
	for _, p := range content.Parts {
		texts = append(texts, p.Text)
	}
	if text := strings.Join(texts, "\n"); strings.TrimSpace(text) != "" {
		return text
	}
	return string(first)
}

func firstContent(body []byte) json.RawMessage {
	list := contentsOf(body)
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func contentsOf(body []byte) []json.RawMessage {
	var top struct{ Contents json.RawMessage }
	if json.Unmarshal(body, &top) != nil || len(top.Contents) == 0 {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(top.Contents, &list) != nil {
		return []json.RawMessage{top.Contents} // one that is not in a list
	}
	return list
}

// inLoop says that the last content answers a call of a function.
func inLoop(body []byte) bool {
	list := contentsOf(body)
	if len(list) == 0 {
		return false
	}
	var last struct{ Parts []map[string]json.RawMessage }
	if json.Unmarshal(list[len(list)-1], &last) != nil {
		return false
	}
	for _, p := range last.Parts {
		if member(p, "functionResponse") != nil {
			return true
		}
	}
	return false
}

// fit makes a request fit for another model, by the pair that is declared; without
// one it goes as it is. why says what of it the other model does not take.
func (r *Routes) fit(from, to Model, body []byte) (out []byte, why string) {
	a := askedOf(body)
	if a.top == nil || has(a.top, "cachedContent") { // it belongs to its model
		return nil, "cached"
	}
	for _, p := range r.cfg.Pairs {
		if p.From != from.Name || p.To != to.Name {
			continue
		}
		if why := p.refuses(a); why != "" {
			return nil, why
		}
		return p.adapt(a), ""
	}
	return body, ""
}

// refuses says what of a request must not go to To.
func (p ModelPair) refuses(a asked) string {
	switch {
	case has(a.top, "tools") && !p.Tools:
		return "tools"
	case a.schema() && !p.Schema:
		return "schema"
	}
	return ""
}

// adapt is translate for a conversation that goes on at To: the signatures in it
// may be To's own, and stay.
func (p ModelPair) adapt(a asked) []byte {
	t := translation{pair: p, config: a.config}
	t.thinking()
	for _, name := range p.Drop {
		t.drop(name)
	}
	if t.config != nil {
		delete(a.top, "generation_config")
		a.top["generationConfig"] = mustMarshal(t.config)
	}
	return mustMarshal(a.top)
}
