package geminitest

import (
	"slices"
	"strings"
)

// language is a tongue in which the simulation can say something.
type language struct {
	code   string
	names  []string // as prompts call it
	space  string   // between sentences
	mark   string   // before everything it says
	frames []string // sentences; * is a word of the prompt
}

// languages has English first: the one taken when a prompt names none.
var languages = []language{
	{"en", []string{"English", "english"}, " ", "[simulated] ", []string{
		"* and *, made with * in mind.",
		"what stands out is * together with *, and * makes it last.",
		"* meets *: a clear choice for anyone who looks for *.",
		"think of *, add *, and * is what remains.",
	}},
	{"ja", []string{"Japanese", "japanese", "日本語"}, "", "［模擬］", []string{
		"*と*を生かし、*にもこだわりました。",
		"*が魅力で、*との相性も抜群。*を探す方におすすめです。",
		"*から*まで、*のある毎日をどうぞ。",
	}},
	{"zh", []string{"Chinese", "chinese", "中文", "汉语"}, "", "［模拟］", []string{
		"融合*与*，让*更出色。",
		"*是亮点，搭配*，适合喜欢*的人。",
	}},
	{"ko", []string{"Korean", "korean", "한국어"}, " ", "[모의] ", []string{
		"*, *, 그리고 *까지 담았습니다.",
		"*의 매력에 *을 더했습니다. *을 찾는 분께 권합니다.",
	}},
	{"fr", []string{"French", "french", "français", "Français"}, " ", "[simulé] ", []string{
		"* et *, avec * pour finir.",
		"on retient surtout *, puis * ; * fait la différence.",
	}},
	{"de", []string{"German", "german", "Deutsch", "deutsch"}, " ", "[simuliert] ", []string{
		"* und *, gemacht mit Blick auf *.",
		"auffällig ist *, dazu *; * sorgt für Dauer.",
	}},
	{"es", []string{"Spanish", "spanish", "español", "Español"}, " ", "[simulado] ", []string{
		"* y *, pensados para *.",
		"destaca * junto a *; * marca la diferencia.",
	}},
	{"it", []string{"Italian", "italian", "italiano", "Italiano"}, " ", "[simulato] ", []string{
		"* e *, con un tocco di *.",
	}},
	{"pt", []string{"Portuguese", "portuguese", "português", "Português"}, " ", "[simulado] ", []string{
		"* e *, com * em primeiro lugar.",
	}},
	{"th", []string{"Thai", "thai", "ไทย"}, " ", "[จำลอง] ", []string{
		"* และ * เพื่อ *",
	}},
}

func (l language) opening(id string) string {
	if id == "" {
		return l.mark
	}
	return l.mark + id + ": "
}

// languageOf finds the language that the prompt asks for: by code after
// "lang" or "language", else the first that is named.
func languageOf(p *prompt) language {
	named := -1
	for _, t := range p.texts {
		code, name := scanLanguage(t)
		if code >= 0 {
			return languages[code]
		}
		if named < 0 {
			named = name
		}
	}
	return languages[max(named, 0)]
}

// scanLanguage goes through a text once and looks at the beginning of each
// word. It gives the indices of the first code and of the first name; -1: none.
func scanLanguage(s string) (code, name int) {
	name = -1
	letter := false // the byte before is part of a word
	for i := range len(s) {
		b := s[i]
		start := !letter || b >= 0xC0 // a script without blanks
		letter = b|0x20 >= 'a' && b|0x20 <= 'z'
		if !start {
			continue
		}
		if b|0x20 == 'l' {
			if code = codeAt(s[i+1:]); code >= 0 {
				return code, name
			}
		}
		if name < 0 && byFirst[b] != nil {
			name = nameAt(s[i:], byFirst[b])
		}
	}
	return -1, name
}

// spelling is one name of a language.
type spelling struct {
	name  string
	index int
}

// byFirst has the names by their first byte.
var byFirst = func() (table [256][]spelling) {
	for i, l := range languages {
		for _, name := range l.names {
			table[name[0]] = append(table[name[0]], spelling{name, i})
		}
	}
	return table
}()

func nameAt(s string, names []spelling) int {
	for _, n := range names {
		if strings.HasPrefix(s, n.name) {
			return n.index
		}
	}
	return -1
}

// codeAt reads what follows an l: "ang" or "ocale" in some word, a sign and a
// code that we know, perhaps with a region.
func codeAt(s string) int {
	if !strings.HasPrefix(s, "ang") && !strings.HasPrefix(s, "ocale") {
		return -1
	}
	after, ok := cutSign(s[idLength(s):])
	if !ok {
		return -1
	}
	code, _, _ := strings.Cut(after[:idLength(after)], "-")
	return slices.IndexFunc(languages, func(l language) bool { return strings.EqualFold(l.code, code) })
}
