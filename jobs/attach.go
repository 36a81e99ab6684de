package jobs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"github.com/dustin/go-humanize"
)

// Attachment is a file that goes with a request, inline.
type Attachment struct {
	Path   string // as the row has it; for a data: URI its beginning
	MIME   string // by the content, whatever its name says
	Digest string // of the content, 64 hex digits
	Size   int64  // in bytes
	Tokens int64  // input tokens that it costs, where PrepareOptions.Tokens was there to say
	Data   []byte // the content; nil where it was not asked for

	field string // the row's field that names it, for errors
}

// MaxAttachments is the most bytes of files that one request takes inline. The API
// takes requests of 20 MB with all that is in them
// (https://ai.google.dev/gemini-api/docs/files), in which files are base64, a third
// longer; 1 MB stays for the rest.
const MaxAttachments = (20<<20 - 1<<20) / 4 * 3

// fileNamed is a file of which only the name is known, or a data: URI, which is all
// there is.
func fileNamed(text, field string) (*Attachment, error) {
	if scheme, _, ok := strings.Cut(text, ":"); ok && strings.EqualFold(scheme, "data") {
		return dataURI(text, field)
	}
	return &Attachment{Path: text, field: field}, nil
}

// dataURI reads data:image/png;base64,….
func dataURI(text, field string) (*Attachment, error) {
	a := &Attachment{Path: text[:min(len(text), 40)], field: field}
	head, body, ok := strings.Cut(text, ",")
	if !ok {
		return nil, a.problem("a data: URI without a comma, after which its content stands", "write it as data:image/png;base64,…")
	}
	var err error
	if _, encoded := strings.CutSuffix(head, ";base64"); encoded {
		a.Data, err = base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(body))
	} else {
		var plain string
		plain, err = url.PathUnescape(body)
		a.Data = []byte(plain)
	}
	if err != nil {
		return nil, a.problem("a data: URI that cannot be decoded: "+err.Error(), "write it as data:image/png;base64,…")
	}
	return a, a.judge(a.Data)
}

// judge fills in what the content tells, and refuses what the API does not take.
func (a *Attachment) judge(content []byte) error {
	a.Size = int64(len(content))
	if a.Size == 0 {
		return a.problem("the file is empty", "write its content, or leave the field empty for a row without a file")
	}
	if a.Size > MaxAttachments {
		return a.tooLarge(a.Size)
	}
	mime, taken := sniff(content)
	if !taken {
		return a.problem(fmt.Sprintf("the file is %s, which Gemini does not take", mime), "it takes "+takenTypes)
	}
	sum := sha256.Sum256(content)
	a.MIME, a.Digest = mime, hex.EncodeToString(sum[:])
	return nil
}

func (a *Attachment) tooLarge(size int64) error {
	has, most := overWords(size)
	return a.problem(fmt.Sprintf("the file has %s; a request takes %s of files", has, most), "make it smaller, or upload it to the Files API and send the request as a Gemini batch line")
}

// overWords are a size over the limit and the limit, in one unit. What is just over it
// is told in bytes: in larger units both would read the same.
func overWords(size int64) (has, most string) {
	has, most = humanize.IBytes(uint64(max(size, 0))), humanize.IBytes(MaxAttachments)
	if has == most {
		has, most = humanize.Comma(size)+" bytes", humanize.Comma(MaxAttachments)+" bytes"
	}
	return has, most
}

func (a *Attachment) problem(what, remedy string) error {
	return &Problem{Field: a.field, What: fmt.Sprintf("file %.200q: %s", a.Path, what), Remedy: remedy}
}

// Attach fills in what the request's files are; find gives one by the path that
// the row has. Files of a data: URI are there already.
func (r *Request) Attach(find func(path string) (Attachment, error)) error {
	var all int64
	for f := range r.Files() {
		if f.Digest == "" {
			got, err := find(f.Path)
			if err != nil {
				return f.explain(err)
			}
			got.field, got.Path = f.field, f.Path
			*f = got
		}
		if all += f.Size; all > MaxAttachments {
			has, most := overWords(all)
			return f.problem(fmt.Sprintf("the row's files have %s together; a request takes %s", has, most), "make them smaller, or fewer")
		}
	}
	return nil
}

// explain puts the row's field into a fault of a file.
func (a *Attachment) explain(err error) error {
	p, ok := err.(*Problem) //nolint:errorlint // a wrapped one is another's
	if !ok {
		return err
	}
	named := *p
	named.Field = a.field
	return &named
}
