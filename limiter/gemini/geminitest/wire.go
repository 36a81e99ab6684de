package geminitest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// The parts of Gemini's requests and answers that the simulation reads and
// writes (https://ai.google.dev/api/generate-content). Requests are decoded
// strictly: an unknown name is an error there too.

type generateRequest struct {
	Model             string           `json:"model"`
	Contents          []content        `json:"contents"`
	SystemInstruction *content         `json:"systemInstruction"`
	GenerationConfig  generationConfig `json:"generationConfig"`
	CachedContent     string           `json:"cachedContent"`
	ServiceTier       string           `json:"serviceTier"`
	Tools             json.RawMessage  `json:"tools"`
	ToolConfig        json.RawMessage  `json:"toolConfig"`
	SafetySettings    json.RawMessage  `json:"safetySettings"`
	Labels            json.RawMessage  `json:"labels"`
	Store             json.RawMessage  `json:"store"`
	ContinuationToken json.RawMessage  `json:"continuationToken"`

	functions []declaration // of the tools
	calling   toolConfig
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

type part struct {
	Text                *string         `json:"text,omitempty"`
	Thought             bool            `json:"thought,omitempty"`
	InlineData          *blob           `json:"inlineData,omitempty"`
	FileData            *file           `json:"fileData,omitempty"`
	FunctionCall        json.RawMessage `json:"functionCall,omitempty"`
	FunctionResponse    json.RawMessage `json:"functionResponse,omitempty"`
	ExecutableCode      json.RawMessage `json:"executableCode,omitempty"`
	CodeExecutionResult json.RawMessage `json:"codeExecutionResult,omitempty"`
	ToolCall            json.RawMessage `json:"toolCall,omitempty"`
	ToolResponse        json.RawMessage `json:"toolResponse,omitempty"`
	ThoughtSignature    json.RawMessage `json:"thoughtSignature,omitempty"`
	VideoMetadata       json.RawMessage `json:"videoMetadata,omitempty"`
	MediaResolution     json.RawMessage `json:"mediaResolution,omitempty"`
	PartMetadata        json.RawMessage `json:"partMetadata,omitempty"`
	AudioTranscription  json.RawMessage `json:"audioTranscription,omitempty"`
	MediaProcessing     json.RawMessage `json:"mediaProcessing,omitempty"`
	SpeechMetadata      json.RawMessage `json:"speechMetadata,omitempty"`
}

type blob struct {
	MIMEType    string      `json:"mimeType"`
	Data        base64Bytes `json:"data"`
	DisplayName string      `json:"displayName"`
}

// base64Bytes are bytes in either alphabet of base64, with or without padding,
// as protobuf's JSON takes them: the Python SDK sends the one for URLs.
type base64Bytes []byte

// UnmarshalJSON reads a string.
func (b *base64Bytes) UnmarshalJSON(raw []byte) (err error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	*b, err = base64.RawStdEncoding.DecodeString(s)
	return err
}

type file struct {
	MIMEType    string `json:"mimeType"`
	FileURI     string `json:"fileUri"`
	DisplayName string `json:"displayName"`
}

// empty says that the part has none of the data that Gemini requires.
func (p part) empty() bool {
	return p.Text == nil && p.InlineData == nil && p.FileData == nil && p.FunctionCall == nil &&
		p.FunctionResponse == nil && p.ExecutableCode == nil && p.CodeExecutionResult == nil &&
		p.ToolCall == nil && p.ToolResponse == nil && p.AudioTranscription == nil
}

type generationConfig struct {
	CandidateCount     int             `json:"candidateCount"`
	MaxOutputTokens    int64           `json:"maxOutputTokens"`
	ResponseMIMEType   string          `json:"responseMimeType"`
	ResponseSchema     json.RawMessage `json:"responseSchema"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	StopSequences      []string        `json:"stopSequences"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig"`

	Temperature                json.RawMessage `json:"temperature"`
	TopP                       json.RawMessage `json:"topP"`
	TopK                       json.RawMessage `json:"topK"`
	Seed                       json.RawMessage `json:"seed"`
	PresencePenalty            json.RawMessage `json:"presencePenalty"`
	FrequencyPenalty           json.RawMessage `json:"frequencyPenalty"`
	ResponseLogprobs           json.RawMessage `json:"responseLogprobs"`
	Logprobs                   json.RawMessage `json:"logprobs"`
	ResponseModalities         json.RawMessage `json:"responseModalities"`
	SpeechConfig               json.RawMessage `json:"speechConfig"`
	ImageConfig                json.RawMessage `json:"imageConfig"`
	MediaResolution            json.RawMessage `json:"mediaResolution"`
	ResponseFormat             json.RawMessage `json:"responseFormat"`
	TranslationConfig          json.RawMessage `json:"translationConfig"`
	AudioTranscriptionConfig   json.RawMessage `json:"audioTranscriptionConfig"`
	EnableAffectiveDialog      json.RawMessage `json:"enableAffectiveDialog"`
	EnableEnhancedCivicAnswers json.RawMessage `json:"enableEnhancedCivicAnswers"`
}

type thinkingConfig struct {
	ThinkingBudget  *int64 `json:"thinkingBudget"`
	ThinkingLevel   string `json:"thinkingLevel"`
	IncludeThoughts bool   `json:"includeThoughts"`
}

type countRequest struct {
	Model                  string           `json:"model"`
	Contents               []content        `json:"contents"`
	GenerateContentRequest *generateRequest `json:"generateContentRequest"`
}

type embedRequest struct {
	Model                string          `json:"model"`
	Content              content         `json:"content"`
	TaskType             string          `json:"taskType"`
	Title                string          `json:"title"`
	OutputDimensionality int             `json:"outputDimensionality"`
	EmbedContentConfig   *embedConfig    `json:"embedContentConfig"`
	AutoTruncate         json.RawMessage `json:"autoTruncate"`
}

type embedConfig struct {
	TaskType             string          `json:"taskType"`
	Title                string          `json:"title"`
	OutputDimensionality int             `json:"outputDimensionality"`
	AutoTruncate         json.RawMessage `json:"autoTruncate"`
	DocumentOCR          json.RawMessage `json:"documentOcr"`
	AudioTrackExtraction json.RawMessage `json:"audioTrackExtraction"`
}

type batchEmbedRequest struct {
	Model    string         `json:"model"`
	Requests []embedRequest `json:"requests"`
}

type generateResponse struct {
	Candidates     []candidate     `json:"candidates,omitempty"`
	PromptFeedback *promptFeedback `json:"promptFeedback,omitempty"`
	UsageMetadata  *usageMetadata  `json:"usageMetadata,omitempty"`
	ModelVersion   string          `json:"modelVersion,omitempty"`
	ResponseID     string          `json:"responseId,omitempty"`
}

type candidate struct {
	Content       content        `json:"content"`
	FinishReason  string         `json:"finishReason,omitempty"`
	Index         int            `json:"index"`
	SafetyRatings []safetyRating `json:"safetyRatings,omitempty"`
}

type promptFeedback struct {
	BlockReason   string         `json:"blockReason"`
	SafetyRatings []safetyRating `json:"safetyRatings,omitempty"`
}

type safetyRating struct {
	Category    string `json:"category"`
	Probability string `json:"probability"`
	Blocked     bool   `json:"blocked,omitempty"`
}

// usageMetadata leaves out what is zero, as Gemini does.
type usageMetadata struct {
	PromptTokenCount        int64           `json:"promptTokenCount,omitempty"`
	CandidatesTokenCount    int64           `json:"candidatesTokenCount,omitempty"`
	TotalTokenCount         int64           `json:"totalTokenCount,omitempty"`
	CachedContentTokenCount int64           `json:"cachedContentTokenCount,omitempty"`
	PromptTokensDetails     []modalityCount `json:"promptTokensDetails,omitempty"`
	CacheTokensDetails      []modalityCount `json:"cacheTokensDetails,omitempty"`
	ThoughtsTokenCount      int64           `json:"thoughtsTokenCount,omitempty"`
	ServiceTier             string          `json:"serviceTier,omitempty"`
}

type modalityCount struct {
	Modality   string `json:"modality"`
	TokenCount int64  `json:"tokenCount"`
}

type countResponse struct {
	TotalTokens         int64           `json:"totalTokens"`
	PromptTokensDetails []modalityCount `json:"promptTokensDetails,omitempty"`
}

type embedding struct {
	Values []float32 `json:"values"`
}
