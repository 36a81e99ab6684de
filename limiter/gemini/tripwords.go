package gemini

import "cmp"

// reasonWords says in words what a verdict's reason means, for those who read why
// nothing goes on.
var reasonWords = map[string]string{
	"project_cap":         "the project's monthly spending cap is reached",
	"billing_cap":         "the billing account's monthly spending cap is reached",
	"prepay_empty":        "the prepaid credits are used up",
	"spend_rate":          "the provider's limit of money in ten minutes is reached",
	"own_budget":          "our own budget is spent, and the provider refuses too",
	"rpd":                 "the day's quota of requests is spent",
	"tpd":                 "the day's quota of tokens is spent",
	"limit_zero":          "the project's tier has no quota for this model",
	"model_not_found":     "the provider has no such model",
	"service_disabled":    "the Gemini API is not enabled in the project",
	"billing_disabled":    "billing is not enabled in the project",
	"permission_denied":   "the project has no right to do this",
	"failed_precondition": "the project lacks something that the API needs, such as billing",
	"project_denied":      "the provider denies the project access",
	"billing_required":    "the free tier is not offered where these calls come from",
	"api_key_invalid":     "the provider refuses the API key",
	"api_key_expired":     "the API key has expired",
	"api_key_leaked":      "the API key was reported as leaked",
	"consumer_suspended":  "the API key or its project is suspended",
	"unauthenticated":     "the provider refuses the API key",
	reasonUnexplained:     "the provider refuses calls and does not say why",
	"not_the_api":         "what answers is not the API (is the base URL right?)",
}

// inWords is a verdict's reason for people, with its stable name.
func inWords(v Verdict) string {
	if v.Kind == BudgetStop && v.Reason == "limit_zero" {
		return "the provider gives the project no paid quota any more (" + v.Reason + ")"
	}
	words := "the provider refuses calls"
	if v.Credential {
		words = "the provider refuses the API key"
	}
	return cmp.Or(reasonWords[v.Reason], words) + " (" + v.Reason + ")"
}
