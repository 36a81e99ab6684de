package geminitest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mimeJSON = "application/json"
	mimeEnum = "text/x.enum"
)

// author writes what the model says. The same seed, prompt and candidate
// always give the same text.
type author struct {
	rng    *rand.Rand
	config generationConfig
	prompt *prompt
	id     string // of the row; may be empty
	lang   language
	words  []string // from the prompt, never empty
	next   int      // word to use next
	least  int64    // tokens of plain text
	s      *Server
}

func (v *visit) author(index int) *author {
	p := v.q.prompts[0]
	a := &author{
		rng:    v.s.random(int64(p.digest)+int64(index), saltAnswer),
		config: v.q.generate.GenerationConfig, prompt: p, id: v.call.ID, least: v.model.AnswerTokens, s: v.s,
	}
	a.lang = languageOf(p)
	a.words = keywords(rowData(p.last(), a.id), a.id)
	a.next = index
	return a
}

// answer obeys the response type and schema.
func (a *author) answer() string {
	if raw := a.schema(); raw != nil {
		return a.fromSchema(raw)
	}
	if a.config.ResponseMIMEType == mimeJSON {
		return a.object()
	}
	return a.plain()
}

func (a *author) schema() json.RawMessage {
	if len(a.config.ResponseJSONSchema) > 0 {
		return a.config.ResponseJSONSchema
	}
	return a.config.ResponseSchema
}

// plain is a sentence or two, or as many as the model's answers are long.
func (a *author) plain() string {
	text := a.lang.opening(a.id) + a.sentence()
	for tokens := countText(text); tokens < a.least; {
		more := a.sentence()
		text += a.lang.space + more
		tokens += countText(more)
	}
	return text
}

// object is JSON that was asked for without a schema.
func (a *author) object() string {
	b, err := json.Marshal(struct {
		ID       string   `json:"id,omitempty"`
		Language string   `json:"language"`
		Summary  string   `json:"summary"`
		Keywords []string `json:"keywords"`
	}{a.id, a.lang.code, a.sentence(), a.words[:min(4, len(a.words))]})
	if err != nil {
		panic(err) // strings
	}
	return string(b)
}

// sentence fills one of the language's sentences with words of the prompt.
func (a *author) sentence() string {
	frame := a.lang.frames[a.rng.IntN(len(a.lang.frames))]
	for strings.Contains(frame, "*") {
		frame = strings.Replace(frame, "*", a.word(), 1)
	}
	first, size := utf8.DecodeRuneInString(frame)
	return string(unicode.ToUpper(first)) + frame[size:]
}

func (a *author) word() string {
	w := a.words[a.next%len(a.words)]
	a.next++
	return w
}

// rowData is where a row's own text probably begins: behind its id, behind
// the last empty line, or behind the first colon.
func rowData(s, id string) string {
	const little = 20 // bytes: too few to be the row
	for _, at := range []int{afterID(s, id), strings.LastIndex(s, "\n\n"), strings.Index(s, ": ")} {
		if at >= 0 && len(s)-at > little {
			return s[at:]
		}
	}
	return s
}

func afterID(s, id string) int {
	if at := strings.Index(s, id); id != "" && at >= 0 {
		return at + len(id)
	}
	return -1
}

// keywords are the first telling words of a row's text: each once, no labels
// ("name:") and none of the row's id.
func keywords(s, id string) []string {
	const most = 12
	words := make([]string, 0, most)
	for len(words) < most {
		var w string
		if w, s = cutWord(s); w == "" {
			break
		}
		label := strings.HasPrefix(s, ":") || strings.HasPrefix(s, `":`)
		if !label && telling(w) && !contains(words, w) && !strings.Contains(id, w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return []string{"simulation"}
	}
	return words
}

// cutWord takes the next word off a text. Words end at everything but
// letters; where a script is written without blanks, also at hiragana.
func cutWord(s string) (word, rest string) {
	start := strings.IndexFunc(s, wordRune)
	if start < 0 {
		return "", ""
	}
	s = s[start:]
	end := strings.IndexFunc(s, notWordRune)
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

func wordRune(r rune) bool {
	if r < 0x80 {
		return r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) && !unicode.Is(unicode.Hiragana, r)
}

func notWordRune(r rune) bool { return !wordRune(r) }

func contains(words []string, w string) bool {
	return slices.ContainsFunc(words, func(known string) bool { return strings.EqualFold(known, w) })
}

// telling leaves out what is too short, too long or too common to mean much.
func telling(w string) bool {
	n := utf8.RuneCountInString(w)
	if w[0] >= 0x80 && !strings.ContainsFunc(w, unicode.IsLower) {
		return n >= 2 && n <= 12
	}
	return n >= 4 && n <= 24 && !common[strings.ToLower(w)]
}

var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`about above after again also another answer because been before being below between both
		could description does done down each english even every following from given have here html http https into item json just keep
		language lang like list made make many more most must name none null only other over please product prompt return rewrite same
		sentence should some such text than that their them then there these they this those through title translate true under
		very want well were what when where which while will with word words would write your`) {
		m[w] = true
	}
	return m
}()
