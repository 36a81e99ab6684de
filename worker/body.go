package worker

import (
	"encoding/json"
	"fmt"

	"nightshift/jobs"

	"google.golang.org/genai"
)

// asItStands makes the SDK send a batch line's own request in place of the one that
// it would write.
func asItStands(body json.RawMessage, d jobs.Draft, config *genai.GenerateContentConfig) error {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("the line's request: %w", err)
	}
	if err := complain(request, d); err != nil {
		return err
	}
	if err := adjust(request, d, config); err != nil {
		return err
	}
	if config.ServiceTier != "" { // the run's, over the line's own
		delete(request, "service_tier")
		if err := put(request, "serviceTier", config.ServiceTier); err != nil {
			return err
		}
	}
	whole := make(map[string]any, len(request))
	for name, v := range request {
		whole[name] = v
	}
	*config = genai.GenerateContentConfig{
		AutomaticContinuation: config.AutomaticContinuation,
		HTTPOptions:           &genai.HTTPOptions{ExtrasRequestProvider: func(map[string]any) map[string]any { return whole }},
	}
	return nil
}

// complain adds the answer that broke the schema with what was wrong.
func complain(request map[string]json.RawMessage, d jobs.Draft) error {
	turns := complaint(d)
	if turns == nil {
		return nil
	}
	var contents []json.RawMessage
	if err := json.Unmarshal(request["contents"], &contents); err != nil {
		return err
	}
	for _, t := range turns {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		contents = append(contents, b)
	}
	return put(request, "contents", contents)
}

// adjust puts in what the row's draft changes: a larger cap, a higher temperature,
// from where an answer goes on.
func adjust(request map[string]json.RawMessage, d jobs.Draft, config *genai.GenerateContentConfig) error {
	changed := map[string]any{}
	if d.Cap > 0 {
		changed["maxOutputTokens"] = config.MaxOutputTokens
	}
	if d.Hot {
		changed["temperature"] = config.Temperature
	}
	if len(d.Token) > 0 {
		if err := put(request, "continuationToken", d.Token); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	name := "generationConfig"
	if request[name] == nil && request["generation_config"] != nil {
		name = "generation_config"
	}
	settings := map[string]json.RawMessage{}
	if text := request[name]; text != nil {
		if err := json.Unmarshal(text, &settings); err != nil {
			return err
		}
	}
	if d.Cap > 0 {
		delete(settings, "max_output_tokens") // the other spelling of what is put in
	}
	for key, v := range changed {
		if err := put(settings, key, v); err != nil {
			return err
		}
	}
	return put(request, name, settings)
}

func put(object map[string]json.RawMessage, name string, v any) error {
	b, err := json.Marshal(v)
	object[name] = b
	return err
}
