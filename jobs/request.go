package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"iter"
	"strings"
)

// The roles of a turn.
const (
	RoleUser  = "user"
	RoleModel = "model"
)

// Request is what one row asks of the model: its templates rendered, or the
// request that a line of a batch file is.
type Request struct {
	Output string // name of the output that is asked for; "" in a run without outputs
	System string
	// Prompt is the request's text where it is one turn of the user and nothing but
	// text, which most are; Turns is nil then.
	Prompt string
	Turns  []Turn
	// Body is a request in Gemini's own form, sent as it stands; System, Prompt and
	// Turns are empty then.
	Body json.RawMessage
	// Model is what a line of a batch file names; "" where it names none.
	Model string
	// Settings go with it. Most rows share them: not to be changed.
	Settings *Settings
}

// Turn is one turn of a conversation.
type Turn struct {
	Role  string // RoleUser or RoleModel
	Parts []Part
}

// Part is a text or a file.
type Part struct {
	Text string
	File *Attachment // nil for a text
}

// Conversation gives the request as turns, whatever it is.
func (r *Request) Conversation() []Turn {
	if r.Turns != nil || r.Body != nil {
		return r.Turns
	}
	return []Turn{{Role: RoleUser, Parts: []Part{{Text: r.Prompt}}}}
}

// Texts gives all of the request's texts, the system instruction first.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(r.System) || !yield(r.Prompt) {
			return
		}
		for p := range r.parts() {
			if p.File == nil && !yield(p.Text) {
				return
			}
		}
	}
}

// Files gives the files that go with the request, in their order.
func (r *Request) Files() iter.Seq[*Attachment] {
	return func(yield func(*Attachment) bool) {
		for p := range r.parts() {
			if p.File != nil && !yield(p.File) {
				return
			}
		}
	}
}

func (r *Request) parts() iter.Seq[*Part] {
	return func(yield func(*Part) bool) {
		for i := range r.Turns {
			for k := range r.Turns[i].Parts {
				if !yield(&r.Turns[i].Parts[k]) {
					return
				}
			}
		}
	}
}

// empty says that nothing is asked.
func (r *Request) empty() bool {
	return r.Turns == nil && r.Body == nil && strings.TrimSpace(r.Prompt) == ""
}

// asOne makes one turn of text alone a Prompt, so that the same request has the
// same key however its template was written.
func (r *Request) asOne() {
	if len(r.Turns) == 1 && r.Turns[0].Role == RoleUser && len(r.Turns[0].Parts) == 1 && r.Turns[0].Parts[0].File == nil {
		r.Prompt, r.Turns = r.Turns[0].Parts[0].Text, nil
	}
}

// key is the digest of the request with what all rows share.
func (r *Request) key(shared [sha256.Size]byte) string {
	h := sha256.New()
	h.Write(shared[:])
	if r.Turns == nil && r.Body == nil {
		writeSized(h, r.Prompt)
		h.Write([]byte(r.System))
	} else {
		r.writeTurns(h)
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])[:16])
}

// writeTurns begins with a length that no prompt has.
func (r *Request) writeTurns(h hash.Hash) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], 1<<64-1)
	h.Write(n[:])
	writeSized(h, r.System)
	writeSized(h, string(r.Body))
	for _, t := range r.Turns {
		writeSized(h, "turn "+t.Role)
		for _, p := range t.Parts {
			if p.File != nil {
				writeSized(h, "file "+p.File.MIME+" "+p.File.Digest)
				continue
			}
			writeSized(h, "text "+p.Text)
		}
	}
}

func writeSized(h hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}
