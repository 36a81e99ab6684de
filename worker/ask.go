package worker

import (
	"cmp"
	"context"

	"nightshift/jobs"
	"nightshift/limiter/gemini"

	"google.golang.org/genai"
)

// ask makes the call that the row's request is.
func (l *lane) ask(ctx context.Context, j *job) (outcome, error) {
	models := l.w.cfg.Client.Models
	if j.run.Spec.Kind == jobs.Embed {
		config := j.shape.embed
		resp, err := models.EmbedContent(ctx, j.run.Spec.Model, genai.Text(j.request.Prompt), &config)
		return readEmbedded(resp), err
	}
	config := configOf(j)
	var raw *gemini.RawAnswer
	if j.request.Body != nil {
		ctx, raw = gemini.KeepRaw(ctx) // only a line of its own has functions to call
		if err := asItStands(j.request.Body, j.draft, &config); err != nil {
			return outcome{}, err
		}
	}
	if j.request.System != "" {
		config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: j.request.System}}}
	}
	resp, err := models.GenerateContent(ctx, j.run.Spec.Model, conversation(j), &config)
	out := readGenerated(resp)
	if raw != nil {
		out = out.withExactCalls(raw.Bytes())
	}
	return j.joined(out), err
}

// configOf are the request's settings with what the row's draft changes.
func configOf(j *job) genai.GenerateContentConfig {
	config, d := j.shape.config, j.draft
	config.ServiceTier = j.wireTier()
	config.MaxOutputTokens = cmp.Or(d.Cap, config.MaxOutputTokens)
	if d.Hot {
		t := heat(config.Temperature)
		config.Temperature = &t
	}
	if len(d.Token) > 0 {
		config.ContinuationToken = d.Token
	}
	return config
}

// conversation is what the row says, and after it the answer that broke the schema
// with what was wrong.
func conversation(j *job) []*genai.Content {
	if j.request.Body != nil {
		return genai.Text("a request of its own is sent") // the SDK wants a text; asItStands replaces it
	}
	var turns []*genai.Content
	for _, t := range j.request.Conversation() {
		turns = append(turns, contentOf(t))
	}
	return append(turns, complaint(j.draft)...)
}

func contentOf(t jobs.Turn) *genai.Content {
	c := &genai.Content{Role: t.Role, Parts: make([]*genai.Part, len(t.Parts))}
	for i, p := range t.Parts {
		if p.File != nil {
			c.Parts[i] = &genai.Part{InlineData: &genai.Blob{MIMEType: p.File.MIME, Data: p.File.Data}}
			continue
		}
		c.Parts[i] = &genai.Part{Text: p.Text}
	}
	return c
}

// complaint is the answer that broke the schema with what was wrong; nothing where
// there was none.
func complaint(d jobs.Draft) []*genai.Content {
	if d.Fault == "" {
		return nil
	}
	return []*genai.Content{
		genai.NewContentFromText(d.Said, genai.RoleModel),
		genai.NewContentFromText("That answer cannot be used: "+d.Fault+"\n"+
			"Answer the request again, in full, with JSON as it was asked for and nothing else: no text around it, no code fence.", genai.RoleUser),
	}
}
