package jobs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keySet are the members that an object of Gemini's request may have. A member
// whose set is nil is not looked into: what is in it is the user's own, or its
// faults cost nobody an answer.
type keySet map[string]keySet

// geminiKeys are the members of a generateContent request that are sent as they
// stand (https://ai.google.dev/api/generate-content and, of labels and audioTimestamp,
// Vertex AI's reference). serviceTier gives way to the run's.
var geminiKeys = func() keySet {
	blob := keySet{"mimeType": nil, "data": nil, "displayName": nil}
	file := keySet{"mimeType": nil, "fileUri": nil, "displayName": nil}
	part := keySet{
		"text": nil, "inlineData": blob, "fileData": file, "thought": nil, "thoughtSignature": nil,
		"videoMetadata":   {"startOffset": nil, "endOffset": nil, "fps": nil},
		"mediaResolution": {"level": nil, "numTokens": nil}, "mediaProcessing": nil, "partMetadata": nil,
		"functionCall": {"id": nil, "name": nil, "args": nil},
		"functionResponse": {
			"id": nil, "name": nil, "response": nil, "willContinue": nil, "scheduling": nil,
			"parts": {"inlineData": blob, "fileData": file, "mediaProcessing": nil},
		},
		"executableCode": {"id": nil, "language": nil, "code": nil}, "codeExecutionResult": {"id": nil, "outcome": nil, "output": nil},
		"toolCall": nil, "toolResponse": nil,
	}
	content := keySet{"role": nil, "parts": part}
	return keySet{
		"contents": content, "systemInstruction": content,
		"tools": {
			"functionDeclarations": {"name": nil, "description": nil, "parameters": nil, "parametersJsonSchema": nil, "response": nil, "responseJsonSchema": nil, "behavior": nil},
			"googleSearch":         nil, "googleSearchRetrieval": nil, "googleMaps": nil, "urlContext": nil, "codeExecution": nil, "computerUse": nil, "fileSearch": nil, "mcpServers": nil,
			"retrieval": nil, "enterpriseWebSearch": nil,
		},
		"toolConfig": {
			"functionCallingConfig": {"mode": nil, "allowedFunctionNames": nil},
			"retrievalConfig":       {"latLng": nil, "languageCode": nil}, "includeServerSideToolInvocations": nil,
		},
		"safetySettings": {"category": nil, "threshold": nil, "method": nil},
		"generationConfig": {
			"stopSequences": nil, "temperature": nil, "topP": nil, "topK": nil, "seed": nil, "presencePenalty": nil, "frequencyPenalty": nil,
			"maxOutputTokens": nil, "candidateCount": nil, "responseMimeType": nil, "responseSchema": nil, "responseJsonSchema": nil, "responseModalities": nil,
			"mediaResolution": nil, "audioTimestamp": nil, "enableEnhancedCivicAnswers": nil,
			"thinkingConfig": {"includeThoughts": nil, "thinkingBudget": nil, "thinkingLevel": nil},
		},
		"serviceTier": nil, "labels": nil, "store": nil,
	}
}()

// notCarried are members that the API has and a run has not.
var notCarried = map[string][2]string{
	"cachedContent":        {"a cache belongs to one project and lapses, maybe before this row is sent; its tokens cannot be counted either", "put its content into systemInstruction or contents: the API caches what many requests begin with by itself"},
	"continuationToken":    {"nightshift asks for the rest of an answer by itself", "take it out of the line"},
	"responseLogprobs":     {"results have no place for it", "take it out of the line"},
	"logprobs":             {"results have no place for it", "take it out of the line"},
	"speechConfig":         {"results have text only", "take it out of the line"},
	"imageConfig":          {"results have text only", "take it out of the line"},
	"translationConfig":    {"results have text only", "take it out of the line"},
	"responseFormat":       {"nightshift does not hold answers against it", "give responseMimeType, and responseJsonSchema where there is a schema"},
	"routingConfig":        {"it lets another model answer than the run's, whose quota and price are counted", "take it out of the line"},
	"modelSelectionConfig": {"it lets another model answer than the run's, whose quota and price are counted", "take it out of the line"},
	"modelArmorConfig":     {"it is of Vertex AI and has not been tried", "take it out of the line"},
}

// check refuses what the request has and the API, or a run, has not: at any depth,
// the first by name, so that the same line is always refused for the same.
func (k keySet) check(at string, text json.RawMessage) error {
	if k == nil || string(text) == "null" {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		for i, one := range list {
			if err := k.checkObject(fmt.Sprintf("%s[%d]", at, i), one); err != nil {
				return err
			}
		}
		return nil
	}
	return k.checkObject(at, text)
}

func (k keySet) checkObject(at string, text json.RawMessage) error {
	o, err := newLineObject(at, text)
	if err != nil {
		return err
	}
	if name := o.twice(); name != "" {
		return o.wrong(name, "is there in both spellings", "take one of them out")
	}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		camel := camelCase(name)
		within, known := k[camel]
		if why, is := notCarried[camel]; !known && is {
			return o.wrong(name, "cannot be sent with a run: "+why[0], why[1])
		}
		if !known {
			return o.wrong(name, "Gemini's API has no such member here", "correct its name, or take it out of the line")
		}
		switch camel {
		case "fileUri":
			err = o.address(name)
		case "inlineData":
			err = inlineBlobs(at+"."+name, o.members[name])
		}
		if err == nil {
			err = within.check(at+"."+name, o.members[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inlineBlobs wants the content of a file, or of several, that can be read.
func inlineBlobs(at string, text json.RawMessage) error {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		for i, one := range list {
			if err := inlineBlobs(fmt.Sprintf("%s[%d]", at, i), one); err != nil {
				return err
			}
		}
		return nil
	}
	o, err := newLineObject(at, text)
	if err != nil {
		return err
	}
	var data string
	switch text, there := o.members["data"]; {
	case !there:
		return o.wrong("data", "there is none", "put the file's content there in base64")
	case json.Unmarshal(text, &data) != nil:
		return o.wrong("data", "want a text, not "+kindOfRaw(text), "put the file's content there in base64")
	case data == "":
		return o.wrong("data", "is empty", "put the file's content there in base64, or take the part out")
	case strings.HasPrefix(data, "data:"):
		return o.wrong("data", "is a data: URI, and the API wants its base64 alone", `take "data:…;base64," off its beginning, and give mimeType`)
	}
	if at, bad := badBase64(data); bad {
		return o.wrong("data", fmt.Sprintf("is not base64 (character %d)", at+1), "encode the file's content in base64, without line breaks")
	}
	return nil
}

// badBase64 is where a text stops being base64, in either alphabet and with or without
// its padding, as JSON's mapping of protobuf has it.
func badBase64(text string) (at int, bad bool) {
	bare := strings.TrimRight(text, "=")
	for i := range len(bare) {
		switch c := bare[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '-', c == '_':
		default:
			return i, true
		}
	}
	return len(bare), len(bare)%4 == 1 || len(text)-len(bare) > 2
}

// twice is a member that is there as fileUri and as file_uri.
func (o lineObject) twice() string {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if camel := camelCase(name); camel != name && o.members[camel] != nil {
			return name
		}
	}
	return ""
}

// address wants a file that the API can open by itself: one of its Files API, a
// public address, or a bucket's object.
func (o lineObject) address(name string) error {
	var uri string
	if json.Unmarshal(o.members[name], &uri) != nil {
		return o.wrong(name, "want a text", "repair the line")
	}
	for _, scheme := range []string{"https://", "http://", "gs://"} {
		if strings.HasPrefix(strings.ToLower(uri), scheme) {
			return nil
		}
	}
	return o.wrong(name, fmt.Sprintf("%.60q is no address that Gemini can open", uri),
		"put the file's content in as inlineData (base64), or upload it to the Files API and name its https:// address")
}
