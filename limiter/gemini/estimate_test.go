package gemini

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"nightshift/limiter"
)

func estimate(t *testing.T, model, body string) limiter.Amounts {
	t.Helper()
	a, err := (&Estimator{}).Estimate("generateContent", model, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	return a
}

func inline(mime string, data []byte, more string) string {
	return fmt.Sprintf(`{"contents":[{"parts":[{"inlineData":{"mimeType":%q,"data":%q}%s}]}]}`, mime, base64.StdEncoding.EncodeToString(data), more)
}

// TestTextByScript holds estimates between what the tokenizer is known to make
// of a script and twice that.
func TestTextByScript(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		low, top float64 // tokens a character
	}{
		"English":  {"The quick brown fox jumps over the lazy dog and runs into the forest. ", 0.20, 0.36},
		"German":   {"Die Geschwindigkeitsbegrenzung gilt für alle Fahrzeuge außerhalb geschlossener Ortschaften. ", 0.25, 0.45},
		"code":     {"func main() {\n\tfmt.Println(\"hello\", x[i]+1)\n}\n", 0.28, 0.75},
		"digits":   {"31415926535897932384", 1, 1},
		"kanji":    {"東京都新宿区西新宿高層建築物", 0.65, 1.3},
		"kana":     {"ひらがなとカタカナ", 0.5, 1.1},
		"Hangul":   {"대한민국서울특별시", 0.6, 1.1},
		"Thai":     {"ประเทศไทยมีประชากรมาก", 0.4, 1},
		"emoji":    {"😀🎉🚀❤", 1, 3.1},
		"family":   {"👨\u200d👩\u200d👧", 1, 3},
		"Russian":  {"Быстрая коричневая лиса прыгает", 0.3, 0.6},
		"Arabic":   {"السلام عليكم ورحمة الله", 0.35, 0.8},
		"one word": {"a", 1, 1},
	} {
		text := strings.Repeat(c.text, 50)
		if name == "one word" {
			text = c.text
		}
		perRune := float64(EstimateText(text)) / float64(len([]rune(text)))
		if perRune < c.low || perRune > c.top {
			t.Errorf("%s: %.2f tokens a character, want %.2f to %.2f", name, perRune, c.low, c.top)
		}
	}
}

// TestEscapesCountAsWhatTheyAre: many clients escape all that is not ASCII.
func TestEscapesCountAsWhatTheyAre(t *testing.T) {
	for _, text := range []string{"東京 and\n\"quotes\" \\ / tab\t", "Быстрая", "plain words 123", "😀😀"} {
		raw, _ := json.Marshal(text)
		var escaped strings.Builder
		for _, r := range string(raw[1 : len(raw)-1]) {
			switch {
			case r >= 0x10000:
				fmt.Fprintf(&escaped, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
			case r >= 0x80:
				fmt.Fprintf(&escaped, `\u%04X`, r)
			default:
				escaped.WriteRune(r)
			}
		}
		direct := estimate(t, "gemini-2.5-flash", fmt.Sprintf(`{"contents":[{"parts":[{"text":%s}]}]}`, raw))
		other := estimate(t, "gemini-2.5-flash", fmt.Sprintf(`{"contents":[{"parts":[{"text":"%s"}]}]}`, escaped.String()))
		if want := EstimateText(text) + 2*overhead; direct[limiter.InputTokens] != want || other != direct {
			t.Errorf("%q: %d escaped, %d direct, %d alone", text, other[limiter.InputTokens], direct[limiter.InputTokens], want)
		}
	}
}

func TestEverythingThatGoesInCounts(t *testing.T) {
	long := strings.Repeat("word ", 100)
	bare := estimate(t, "m", question)[limiter.InputTokens]
	for name, more := range map[string]string{
		"system":       `"systemInstruction":{"parts":[{"text":"` + long + `"}]}`,
		"system snake": `"system_instruction":{"parts":[{"text":"` + long + `"}]}`,
		"tools":        `"tools":[{"functionDeclarations":[{"name":"f","description":"` + long + `"}]}]`,
		"schema":       `"generationConfig":{"responseSchema":{"description":"` + long + `"}}`,
		"schema snake": `"generation_config":{"response_schema":{"description":"` + long + `"}}`,
		"cache":        `"cachedContent":"cachedContents/x"`,
	} {
		if got := estimate(t, "m", question[:len(question)-1]+","+more+"}")[limiter.InputTokens]; got < bare+100 {
			t.Errorf("%s: %d, without it %d", name, got, bare)
		}
	}
	for name, part := range map[string]string{
		"call":     `{"functionCall":{"name":"f","args":{"a":"` + long + `"}}}`,
		"response": `{"functionResponse":{"name":"f","response":{"a":"` + long + `"}}}`,
		"code":     `{"executable_code":{"code":"` + long + `"}}`,
		"text":     `{"inline_data":{"mime_type":"text/plain","data":"` + base64.StdEncoding.EncodeToString([]byte(long)) + `"}}`,
	} {
		if got := estimate(t, "m", `{"contents":[{"parts":[`+part+`]}]}`)[limiter.InputTokens]; got < 100 || got > 250 {
			t.Errorf("%s: %d", name, got)
		}
	}
	empty := estimate(t, "m", `{"contents":[{"parts":[{}]},{"parts":[{"text":""}]}]}`)
	if empty[limiter.InputTokens] > 20 {
		t.Errorf("empty parts: %v", empty)
	}
}

func picture(t *testing.T, w, h int, jpg bool) []byte {
	t.Helper()
	var b bytes.Buffer
	img := image.NewGray(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(rand.Uint32()) // noise: the file is large
	}
	err := png.Encode(&b, img)
	if jpg {
		b.Reset()
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPicturesGoByTheirSize: a 2 MB picture is some thousand tokens, not 600,000.
func TestPicturesGoByTheirSize(t *testing.T) {
	big := picture(t, 1600, 1200, false)
	if len(big) < 1_500_000 {
		t.Fatalf("%d bytes", len(big))
	}
	for name, c := range map[string]struct {
		model string
		body  string
		want  int64
	}{
		"2 MB, tiles":       {"gemini-2.5-flash", inline("image/png", big, ""), 4 * 258},
		"2 MB, flat":        {"gemini-3.8-flash", inline("image/png", big, ""), 1120},
		"low":               {"gemini-3.8-flash", inline("image/png", big, `,"mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}`), 280},
		"ultra":             {"gemini-3.8-flash", inline("image/png", big, `,"mediaResolution":{"level":"MEDIA_RESOLUTION_ULTRA_HIGH"}`), 2240},
		"small":             {"gemini-2.5-flash", inline("image/jpeg", picture(t, 300, 200, true), ""), 258},
		"wide":              {"gemini-2.5-flash", inline("image/jpeg", picture(t, 960, 540, true), ""), 6 * 258},
		"not a picture":     {"gemini-2.5-flash", inline("image/png", []byte("hello"), ""), 6 * 258},
		"WebP":              {"gemini-2.5-flash", inline("image/webp", webp(300, 300), ""), 258},
		"of the request":    {"gemini-3.8-flash", strings.Replace(inline("image/png", big, ""), `{"contents"`, `{"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_MEDIUM"},"contents"`, 1), 560},
		"a file":            {"gemini-3.8-flash", `{"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"files/x"}}]}]}`, 1120},
		"URL-safe alphabet": {"gemini-2.5-flash", strings.NewReplacer("+", "-", "/", "_").Replace(inline("X", picture(t, 300, 200, true), "")), 258},
	} {
		body := strings.Replace(c.body, `"mimeType":"X"`, `"mimeType":"image/jpeg"`, 1)
		got := estimate(t, c.model, body)[limiter.InputTokens] - 2*overhead
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func webp(w, h uint32) []byte {
	b := make([]byte, 30)
	copy(b, "RIFF....WEBPVP8L")
	binary.LittleEndian.PutUint32(b[21:], (w-1)|(h-1)<<14)
	return b
}

func wav(seconds int) []byte {
	b := make([]byte, 44+seconds*32_000)
	copy(b, "RIFF....WAVEfmt ")
	binary.LittleEndian.PutUint32(b[28:], 32_000)
	return b
}

func mp4(seconds uint32) []byte {
	b := make([]byte, 5000)
	copy(b[4:], "ftypisom")
	copy(b[1000:], "mvhd")
	binary.BigEndian.PutUint32(b[1016:], 600)
	binary.BigEndian.PutUint32(b[1020:], 600*seconds)
	return b
}

func TestSoundAndFilmGoByTheirLength(t *testing.T) {
	flac := make([]byte, 64)
	copy(flac, "fLaC")
	binary.BigEndian.PutUint64(flac[18:], 44_100<<44|44_100*10)
	ogg := make([]byte, 200)
	copy(ogg, "OggS")
	copy(ogg[100:], "OggS")
	binary.LittleEndian.PutUint64(ogg[106:], 48_000*10)
	for name, c := range map[string]struct {
		model, mime string
		data        []byte
		more        string
		low, high   int64
	}{
		"wav 10 s":              {"gemini-2.5-flash", "audio/wav", wav(10), "", 320, 325},
		"flac 10 s":             {"gemini-2.5-flash", "audio/flac", flac, "", 320, 320},
		"ogg 10 s":              {"gemini-2.5-flash", "audio/ogg", ogg, "", 320, 320},
		"mp3 10 s at 128":       {"gemini-2.5-flash", "audio/mp3", append([]byte{0xFF, 0xFB, 0x90, 0}, make([]byte, 160_000)...), "", 320, 330},
		"m4a 10 s":              {"gemini-2.5-flash", "audio/mp4", mp4(10), "", 320, 320},
		"unknown sound errs up": {"gemini-2.5-flash", "audio/aac", make([]byte, 160_000), "", 320, 2560},
		"film 10 s":             {"gemini-2.5-flash", "video/mp4", mp4(10), "", 2900, 2900},
		"film 10 s, new":        {"gemini-3.8-flash", "video/mp4", mp4(10), "", 1020, 1020},
		"film at 5 a second":    {"gemini-2.5-flash", "video/mp4", mp4(10), `,"videoMetadata":{"fps":5}`, 13_220, 13_220},
		"a clip of 2 s":         {"gemini-2.5-flash", "video/mp4", mp4(10), `,"videoMetadata":{"startOffset":"3s","endOffset":"5s"}`, 580, 580},
	} {
		got := estimate(t, c.model, inline(c.mime, c.data, c.more))[limiter.InputTokens] - 2*overhead
		if got < c.low || got > c.high {
			t.Errorf("%s: %d, want %d to %d", name, got, c.low, c.high)
		}
	}
}

// TestPDFGoesByItsPages: 17 KB may be a hundred pages.
func TestPDFGoesByItsPages(t *testing.T) {
	plain := "%PDF-1.4\n" + strings.Repeat("1 0 obj <</Type /Page /Parent 2 0 R>> endobj\n", 7) + "<</Type /Pages /Kids [] /Count 7>>"
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprint(z, strings.Repeat("<</Type/Page/Parent 2 0 R>> ", 109))
	z.Close()
	hidden := "%PDF-1.5\n1 0 obj <</Type/ObjStm/Filter/FlateDecode>> stream\r\n" + packed.String() + "\nendstream endobj"
	for name, c := range map[string]struct {
		pdf  string
		low  int64
		high int64
	}{
		"plain":            {plain, 7, 7},
		"packed":           {hidden, 109, 109},
		"cannot be read":   {"%PDF-1.7\n" + strings.Repeat("x", 17_000), 108, 200},
		"cannot, and huge": {"%PDF-1.7\n" + strings.Repeat("x", 1_000_000), 1000, 1000},
	} {
		got := estimate(t, "gemini-2.5-flash", inline("application/pdf", []byte(c.pdf), ""))[limiter.InputTokens] - 2*overhead
		if got < c.low*258 || got > c.high*258 {
			t.Errorf("%s: %d pages", name, got/258)
		}
	}
}

// TestOutputIsTheWorstCase over every field that can raise it.
func TestOutputIsTheWorstCase(t *testing.T) {
	for config, want := range map[string]int64{
		`{}`:                          65_536,
		`{"maxOutputTokens":100}`:     100,
		`{"max_output_tokens":"100"}`: 100,
		`{"maxOutputTokens":100,"thinkingConfig":{"thinkingBudget":2000}}`:                    2100,
		`{"maxOutputTokens":100,"thinkingConfig":{"thinkingBudget":-1}}`:                      100,
		`{"maxOutputTokens":100,"candidateCount":4}`:                                          400,
		`{"maxOutputTokens":999999}`:                                                          65_536,
		`{"candidateCount":2}`:                                                                131_072,
		`{"maxOutputTokens":100,"candidateCount":4,"thinkingConfig":{"thinkingBudget":1000}}`: 4400,
	} {
		a := estimate(t, "m", question[:len(question)-1]+`,"generationConfig":`+config+"}")
		if a[limiter.OutputTokens] != want || a[limiter.TotalTokens] != want+a[limiter.InputTokens] {
			t.Errorf("%s: %v, want %d", config, a, want)
		}
	}
	a := estimate(t, "m", question[:len(question)-1]+`,"generationConfig":{"responseModalities":["TEXT","Image"],"candidateCount":2}}`)
	if a[limiter.Images] != 2 || a[limiter.Concurrency] != 1 {
		t.Errorf("%v", a)
	}
}

// TestImagesAreCharged when the request asks for them, and by a model that makes
// them unasked.
func TestImagesAreCharged(t *testing.T) {
	for name, c := range map[string]struct {
		model, config string
		want          int64
	}{
		"asked for":               {"gemini-3.8-flash", `{"responseModalities":["IMAGE"]}`, 1},
		"text":                    {"gemini-3.8-flash", `{}`, 0},
		"an image model, unasked": {"gemini-3-pro-image", `{}`, 1},
		"several":                 {"gemini-2.5-flash-image", `{"candidateCount":3}`, 3},
		"text alone":              {"gemini-2.5-flash-image", `{"response_modalities":["TEXT"]}`, 0},
	} {
		got := estimate(t, c.model, question[:len(question)-1]+`,"generationConfig":`+c.config+"}")
		if got[limiter.Images] != c.want {
			t.Errorf("%s: %d images, want %d", name, got[limiter.Images], c.want)
		}
	}
}

func TestEstimatedMoney(t *testing.T) {
	e := &Estimator{Prices: EmbeddedPrices()}
	a, err := e.Estimate("generateContent", "gemini-2.5-flash", []byte(question[:len(question)-1]+`,"generationConfig":{"maxOutputTokens":1000}}`))
	if err != nil || a[limiter.MicroUSD] < 2500 || a[limiter.MicroUSD] > 2510 {
		t.Errorf("%v %v", a, err)
	}
	flex, _ := e.Estimate("generateContent", "gemini-2.5-flash", []byte(question[:len(question)-1]+`,"serviceTier":"flex","generationConfig":{"maxOutputTokens":1000}}`))
	if flex[limiter.MicroUSD] >= a[limiter.MicroUSD] {
		t.Errorf("flex %v", flex)
	}
}

func TestCachedContentIsLearned(t *testing.T) {
	e := &Estimator{}
	ask := Ask{Method: "generateContent", Model: Model{Name: "m"}, Body: []byte(`{"cachedContent":"cachedContents/x",` + question[1:])}
	first, _ := e.Ask(ask)
	e.Learn(ask, first, Usage{Prompt: 5010, Cached: 5000}, true)
	second, _ := e.Ask(ask)
	if got := first.Amounts[limiter.InputTokens] - second.Amounts[limiter.InputTokens]; got != unknownCache-5000 {
		t.Errorf("%v, then %v", first.Amounts, second.Amounts)
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add([]byte(question))
	f.Add([]byte(inline("application/pdf", []byte("%PDF stream\r\nx"), "")))
	f.Add([]byte(inline("audio/wav", wav(1)[:100], "")))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := (&Estimator{}).Estimate("generateContent", "gemini-2.5-flash", body)
		for unit, n := range a {
			if err == nil && n < 0 {
				t.Errorf("%q: %s is %d", body, limiter.Unit(unit), n)
			}
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	lanes, _ := NewLaneMap("p", "", Model{Name: "gemini-2.5-flash"})
	tr, _ := NewTransport(TransportConfig{Base: replies(200, "application/json", good), APIKey: testKey, Gate: freeGate{}, Lanes: lanes})
	body := `{"contents":[{"parts":[{"text":"` + strings.Repeat("some words of a row ", 50) + `"}]}],"generationConfig":{"maxOutputTokens":100}}`
	ctx, _ := callCtx(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.RoundTrip(post(ctx, generate, body)); err != nil {
			b.Fatal(err)
		}
	}
}
