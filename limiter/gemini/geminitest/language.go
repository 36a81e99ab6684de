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
	for _, t := range p.texts {
		if i := languageCode(t); i >= 0 {
			return languages[i]
		}
	}
	best, at := 0, -1
	for i, l := range languages {
		for _, name := range l.names {
			for _, t := range p.texts {
				if found := strings.Index(t, name); found >= 0 && (at < 0 || found < at) {
					best, at = i, found
				}
			}
		}
	}
	return languages[best]
}

// languageCode gives the language whose code follows lang, language, locale
// or target and a sign; -1: none.
func languageCode(s string) int {
	for _, word := range []string{"lang", "Lang", "locale", "Locale"} {
		for rest := s; ; {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			rest = rest[i+len(word):]
			after, ok := cutSign(rest[idLength(rest):])
			if !ok {
				continue
			}
			code, _, _ := strings.Cut(strings.ToLower(after[:idLength(after)]), "-")
			if at := slices.IndexFunc(languages, func(l language) bool { return l.code == code }); at >= 0 {
				return at
			}
		}
	}
	return -1
}
