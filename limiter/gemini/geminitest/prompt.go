package geminitest

import (
	"regexp"
	"strings"
)

// prompt is what the server made of the contents of a request.
type prompt struct {
	tokens   [len(modalityNames)]int64
	texts    []string
	digest   uint64
	prefixes []prefix // for implicit caching; nil in short prompts
}

// prefix is a beginning of a prompt's text, by digest and length.
type prefix struct {
	digest uint64
	bytes  int
}

const (
	fnvOffset   = 14695981039346656037
	fnvPrime    = 1099511628211
	prefixBytes = 4096 // prefixes are compared in steps of this
)

func (p *prompt) total() (n int64) {
	for _, t := range p.tokens {
		n += t
	}
	return n
}

func (p *prompt) details() []modalityCount {
	var list []modalityCount
	for i, n := range p.tokens {
		if n > 0 {
			list = append(list, modalityCount{modalityNames[i], n})
		}
	}
	return list
}

// contains looks for a text in every part of the prompt.
func (p *prompt) contains(text string) bool {
	for _, t := range p.texts {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}

// text is the whole prompt in one string.
func (p *prompt) text() string {
	if len(p.texts) == 1 {
		return p.texts[0]
	}
	return strings.Join(p.texts, "\n")
}

// last is the text of the last part, where the row's own data stands.
func (p *prompt) last() string {
	if len(p.texts) == 0 {
		return ""
	}
	return p.texts[len(p.texts)-1]
}

func (p *prompt) addText(s string) {
	p.texts = append(p.texts, s)
	p.tokens[modText] += countText(s)
}

func (p *prompt) addContent(c content) {
	for _, part := range c.Parts {
		switch {
		case part.Text != nil:
			p.addText(*part.Text)
		case part.InlineData != nil:
			m, n := countMedia(part.InlineData.MIMEType, part.InlineData.Data)
			p.tokens[m] += n
		case part.FileData != nil:
			m, n := countMedia(part.FileData.MIMEType, nil)
			p.tokens[m] += n
		default:
			p.tokens[modText] += countText(string(part.FunctionCall)) + countText(string(part.FunctionResponse))
		}
	}
}

// seal computes the digest, and the prefixes of a long prompt.
func (p *prompt) seal() {
	h, size, long := uint64(fnvOffset), 0, p.tokens[modText] > 1000
	for _, t := range p.texts {
		for i := range len(t) {
			h = (h ^ uint64(t[i])) * fnvPrime
			if size++; long && size%prefixBytes == 0 {
				p.prefixes = append(p.prefixes, prefix{h, size})
			}
		}
	}
	p.digest = h
}

// prompt reads a generate request.
func (g *generateRequest) prompt() *prompt {
	p := &prompt{}
	if g.SystemInstruction != nil {
		p.addContent(*g.SystemInstruction)
	}
	for _, c := range g.Contents {
		p.addContent(c)
	}
	p.tokens[modText] += countText(string(g.Tools))
	p.seal()
	return p
}

// prompt reads the request of one embedding.
func (e *embedRequest) prompt() *prompt {
	p := &prompt{}
	p.addContent(e.Content)
	p.seal()
	return p
}

// rowID finds the id of the row that a prompt was made from.
func (p *prompt) rowID(pattern *regexp.Regexp) string {
	for i := len(p.texts) - 1; i >= 0; i-- {
		if id := findID(p.texts[i], pattern); id != "" {
			return id
		}
	}
	return ""
}

func findID(s string, pattern *regexp.Regexp) string {
	if pattern == nil {
		return scanID(s)
	}
	m := pattern.FindStringSubmatch(s)
	if len(m) == 0 {
		return ""
	}
	return m[min(1, len(m)-1)]
}

// scanID takes what follows the word "id" and a colon or an equals sign. By
// hand, since a regular expression takes longer than the rest of the call.
func scanID(s string) string {
	for from := 0; ; {
		i := strings.IndexAny(s[from:], "iI")
		if i < 0 || from+i+2 > len(s) {
			return ""
		}
		at := from + i
		from = at + 1
		if s[at+1]|0x20 != 'd' || at > 0 && idByte(s[at-1]) && s[at-1] != '_' {
			continue
		}
		rest, ok := cutSign(s[at+2:])
		if !ok {
			continue
		}
		if id := rest[:idLength(rest)]; id != "" {
			return strings.TrimRight(id, ".")
		}
	}
}

// cutSign skips quotes and blanks around one ':' or '='.
func cutSign(s string) (string, bool) {
	const around = " \"'`\\"
	s = strings.TrimLeft(s, around)
	if s == "" || s[0] != ':' && s[0] != '=' {
		return "", false
	}
	return strings.TrimLeft(s[1:], around), true
}

func idLength(s string) int {
	for i := range len(s) {
		if !idByte(s[i]) {
			return i
		}
	}
	return len(s)
}

func idByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' || b >= 0x80
}
