package gemini

import (
	"regexp"
	"strings"
)

// identities are what tells who a caller is, beside credentials.
var identities = regexp.MustCompile(`(?i)((?:projects?(?:_number|_id)?|consumer|containerInfo|billingAccounts?|organizations?|folders?)(?:%2f|["'\\]*[/:=] ?["'\\]*))(?:projects/)?[a-z0-9][a-z0-9._-]*` +
	`|(\bproject )[0-9][0-9]+` +
	`|(\bproject )[a-z][a-z0-9-]*[0-9-][a-z0-9-]*` +
	`|\b[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+` +
	`|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`)

// opaque ids and tokens are long and have digits all over.
var longToken = regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`)

// anonymous takes out of a text who asked: project, account, address, and long ids
// that nobody else can use.
func anonymous(s string) string {
	s = identities.ReplaceAllString(s, "${1}${2}${3}[redacted]")
	return longToken.ReplaceAllStringFunc(s, func(token string) string {
		if strings.Count(token, "/") > 2 || digits(token) < len(token)/8 {
			return token // a path, a quota's name
		}
		return "[redacted]"
	})
}

func digits(s string) (n int) {
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// askedSchema finds what was asked in a request.
var askedSchema = bothSpellings(&field{name: "request", keys: map[string]*field{
	"contents": {name: "asked", take: true}, "content": {name: "asked", take: true}, "requests": {name: "asked", take: true},
	"systemInstruction": {name: "asked", take: true},
}})

// echoBytes are how much of a request is enough to be known again in an answer.
const echoBytes = 14

// askedBytes of a request's texts are looked for.
const askedBytes = 4 << 20

// withoutPrompt takes out of an answer what it repeats of the request.
func withoutPrompt(answer string, request []byte) string {
	var asked []string
	s := scanner{root: askedSchema, on: func(_ *field, raw []byte) { asked = append(asked, string(raw[:min(len(raw), askedBytes)])) }}
	s.reset()
	s.push(request)
	e := newEcho(answer)
	for _, text := range asked {
		objects, _ := shred(text[:min(len(text), partBytes)])
		for i := range objects {
			answer = e.short(answer, &objects[i])
		}
	}
	e = newEcho(answer)
	for _, text := range asked {
		e.mark(text)
		if strings.Contains(text, `\`) {
			e.mark(unescape(text))
		}
	}
	return e.rest()
}

// echo finds pieces of other texts in one.
type echo struct {
	text  string
	at    map[string][]int // where each piece of the text is
	heard []bool           // bytes of the text that are repeated
}

func newEcho(text string) *echo {
	e := &echo{text: text, at: map[string][]int{}, heard: make([]bool, len(text))}
	for i := 0; i+echoBytes <= len(text); i++ {
		e.at[text[i:i+echoBytes]] = append(e.at[text[i:i+echoBytes]], i)
	}
	return e
}

// short takes texts out that are too short for pieces.
func (e *echo) short(answer string, o *object) string {
	for _, p := range o.pairs {
		if p.is("text") && len(p.value) > 3 && len(p.value) < 2*echoBytes {
			answer = strings.ReplaceAll(answer, p.value, promptMark)
		}
	}
	return answer
}

// promptMark stands for what was asked.
const promptMark = "[prompt]"

func (e *echo) mark(text string) {
	for i := 0; i+echoBytes <= len(text); i++ {
		for _, at := range e.at[text[i:i+echoBytes]] {
			for j := range echoBytes {
				e.heard[at+j] = true
			}
		}
	}
}

// between are the signs of JSON around what was asked.
const between = "\"{}[]:,\\ \n"

// rest is the text without what was heard.
func (e *echo) rest() string {
	var b strings.Builder
	for i := 0; i < len(e.text); {
		j := i
		for j < len(e.text) && e.heard[j] == e.heard[i] {
			j++
		}
		run := e.text[i:j]
		if e.heard[i] {
			words := strings.Trim(run, between)
			run = strings.Replace(run, words, promptMark, 1)
		}
		b.WriteString(run)
		i = j
	}
	return b.String()
}
