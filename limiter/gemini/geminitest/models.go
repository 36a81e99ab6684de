package geminitest

import (
	"sort"
	"strings"
)

// DefaultModels are models of late 2026 without limits, with the paid standard
// prices of the public price page (https://ai.google.dev/gemini-api/docs/pricing).
func DefaultModels() []Model {
	return []Model{
		{Name: "gemini-3.8-flash", ThinkingTokens: 60, Price: Price{Input: 0.75, Output: 3.75, Cached: 0.075}},
		{Name: "gemini-3.7-flash", ThinkingTokens: 60, Price: Price{Input: 0.75, Output: 3.75, Cached: 0.075}},
		{Name: "gemini-3.5-flash", ThinkingTokens: 60, Price: Price{Input: 1.50, Output: 9.00, Cached: 0.15}},
		{Name: "gemini-3.5-flash-lite", Price: Price{Input: 0.30, Output: 2.50, Cached: 0.03}},
		{Name: "gemini-3.1-flash-lite", Price: Price{Input: 0.25, Output: 1.50, Cached: 0.025}},
		{Name: "gemini-3.1-pro-preview", Bucket: "gemini-3.1-pro", ThinkingTokens: 400, Price: Price{Input: 2, Output: 12, Cached: 0.20}},
		{Name: "gemini-2.5-flash", ThinkingTokens: 60, CacheTokens: 2048, Price: Price{Input: 0.30, Output: 2.50, Cached: 0.03}},
		{Name: "gemini-2.5-flash-lite", CacheTokens: 2048, Price: Price{Input: 0.10, Output: 0.40, Cached: 0.01}},
		{Name: "gemini-embedding-2", Embeds: true, Price: Price{Input: 0.20}},
		{Name: "gemini-embedding-001", Embeds: true, ContextTokens: 2048, Price: Price{Input: 0.15}},
	}
}

// modelInfo is an entry of models.list.
type modelInfo struct {
	Name             string   `json:"name"`
	Version          string   `json:"version"`
	DisplayName      string   `json:"displayName"`
	Description      string   `json:"description"`
	InputTokenLimit  int64    `json:"inputTokenLimit"`
	OutputTokenLimit int64    `json:"outputTokenLimit"`
	Methods          []string `json:"supportedGenerationMethods"`
	Thinking         bool     `json:"thinking,omitempty"`
}

func (m Model) info() modelInfo {
	methods := []string{methodGenerate, methodCount, methodStream}
	if m.Embeds {
		methods = []string{methodEmbed, methodBatchEmbed, methodCount}
	}
	return modelInfo{
		Name: "models/" + m.Name, Version: "001", DisplayName: displayName(m.Name),
		Description:     "Simulated " + displayName(m.Name),
		InputTokenLimit: m.ContextTokens, OutputTokenLimit: m.OutputTokens,
		Methods: methods, Thinking: m.ThinkingTokens > 0,
	}
}

func displayName(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// model gives the settings of a model that exists. mu is held.
func (s *Server) modelLocked(name string) (Model, bool) {
	if m, ok := s.models[name]; ok {
		return m, true
	}
	if s.cfg.Strict || name == "" {
		return Model{}, false
	}
	m := s.cfg.Default
	m.Name, m.Bucket = name, ""
	m.Embeds = m.Embeds || strings.Contains(name, "embedding")
	m = m.filled()
	s.models[name] = m
	return m, true
}

// listModels answers models.list, by name.
func (s *Server) listModels() *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]modelInfo, 0, len(s.models))
	for _, m := range s.models {
		list = append(list, m.info())
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return okReply(map[string]any{"models": list})
}

func (s *Server) getModel(r route) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.modelLocked(r.model)
	if !ok {
		return modelNotFound(r)
	}
	return okReply(m.info())
}
