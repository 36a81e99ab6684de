package geminitest

import "fmt"

func (q *request) checkGenerate(g *generateRequest) *reply {
	if len(g.Contents) == 0 {
		return invalidArgument("bad_request", "* GenerateContentRequest.contents: contents is not specified\n")
	}
	for i, c := range g.Contents {
		for j, p := range c.Parts {
			if p.empty() {
				return invalidArgument("bad_request", fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].data: "+
					"required oneof field 'data' must have one initialized field\n", i, j))
			}
		}
	}
	q.prompts = []*prompt{g.prompt()}
	if bad := g.readTools(); bad != nil {
		return bad
	}
	return g.GenerationConfig.check()
}

func (c generationConfig) check() *reply {
	schema := len(c.ResponseSchema) > 0 || len(c.ResponseJSONSchema) > 0
	switch {
	case c.MaxOutputTokens < 0:
		return invalidArgument("bad_request", "max_output_tokens must be positive.")
	case c.CandidateCount < 0 || c.CandidateCount > 8:
		return invalidArgument("bad_request", fmt.Sprintf("* GenerateContentRequest.generation_config.candidate_count: candidate_count must be in the range [1, 8], got %d\n", c.CandidateCount))
	case schema && c.ResponseMIMEType != mimeJSON && c.ResponseMIMEType != mimeEnum:
		return invalidArgument("bad_request", "Function calling with a response mime type or a response schema needs responseMimeType application/json.")
	}
	return nil
}

func (q *request) checkCount(c countRequest) *reply {
	if c.GenerateContentRequest != nil {
		return q.checkGenerate(c.GenerateContentRequest)
	}
	return q.checkGenerate(&generateRequest{Contents: c.Contents})
}

// maxBatch is how many texts batchEmbedContents takes.
const maxBatch = 100

func (q *request) checkEmbeds() *reply {
	if len(q.embeds) == 0 || len(q.embeds) > maxBatch {
		return invalidArgument("bad_request", fmt.Sprintf("* BatchEmbedContentsRequest.requests: between 1 and %d requests can be in one batch\n", maxBatch))
	}
	for i := range q.embeds {
		p := q.embeds[i].prompt()
		if len(p.texts) == 0 && p.total() == 0 {
			return invalidArgument("bad_request", "* EmbedContentRequest.content: contents is not specified\n")
		}
		q.prompts = append(q.prompts, p)
	}
	return nil
}
