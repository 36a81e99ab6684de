package gemini

// priceField is one price of the file and where it goes.
type priceField struct {
	name    string
	word    word
	to      *int64
	without string // what holds when it is left out
}

// price reads the amounts of a tariff, or of its long prompts.
func (p *priceReader) price(at string, f filePrice) (out Price, err error) {
	const asInput, asCached, asOutput = "input's", "cached's", "output's"
	for _, x := range []priceField{
		{"input", f.Input, &out.Input, ""}, {"output", f.Output, &out.Output, ""}, {"cached", f.Cached, &out.Cached, asInput},
		{"audio", f.Audio, &out.InputBy.Audio, asInput}, {"image", f.Image, &out.InputBy.Image, asInput}, {"video", f.Video, &out.InputBy.Video, asInput},
		{"cached_audio", f.CachedAudio, &out.CachedBy.Audio, asCached}, {"cached_image", f.CachedImage, &out.CachedBy.Image, asCached},
		{"cached_video", f.CachedVideo, &out.CachedBy.Video, asCached},
		{"audio_output", f.AudioOutput, &out.OutputBy.Audio, asOutput}, {"image_output", f.ImageOutput, &out.OutputBy.Image, asOutput},
		{"video_output", f.VideoOutput, &out.OutputBy.Video, asOutput},
		{"storage", f.Storage, &out.Storage, "that of no model"}, {"search", f.Search, &out.Search, "the dearest of all models"},
	} {
		if err := p.amount(at, x, max(f.Input.line, f.Output.line)); err != nil {
			return out, err
		}
	}
	out.Search *= 1000 // it is written per thousand
	switch f.SearchPer.text {
	case "", "query":
	case "request":
		out.SearchPerRequest = true
	default:
		return out, p.wrong(f.SearchPer.line, at+"search_per", "%q; want query or request", f.SearchPer.text)
	}
	return out, nil
}

// amount reads one price. Nothing is free by mistake: input and output must be
// there, and only output may be 0, for models that have none.
func (p *priceReader) amount(at string, x priceField, line int) error {
	field := at + x.name
	if !x.word.there() {
		if x.without == "" {
			return p.wrong(line, field, "missing; every price has input and output (output: 0 is for models that only embed)")
		}
		return nil
	}
	n, problem := decimal(x.word.text, p.places)
	switch {
	case problem != "":
		return p.wrong(x.word.line, field, "%q %s; want a price %s, such as %s", x.word.text, problem, p.unit(), p.example())
	case n == 0 && x.name != "output":
		if x.without == "" {
			return p.wrong(x.word.line, field, "0 would make it free; want a price %s, such as %s", p.unit(), p.example())
		}
		return p.wrong(x.word.line, field, "0 would make it free; leave it out, and its price is %s", x.without)
	}
	if *x.to = n; n > mostUSD*perMillion {
		return p.wrong(x.word.line, field, "%s is above %d dollars; is it %s?", x.word.text, mostUSD, p.unit())
	}
	return nil
}

func (p *priceReader) unit() string {
	if p.places > 0 {
		return "in dollars"
	}
	return "in micro-dollars"
}

func (p *priceReader) example() string {
	if p.places > 0 {
		return "0.75"
	}
	return "750000"
}
