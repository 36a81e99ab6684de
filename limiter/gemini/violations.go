package gemini

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// violation is one quota that an answer names.
type violation struct {
	id, metric string
	model      string
	value      int64
	known      bool // the value is stated, or absent where absent means 0
}

// window of a quota, by its name.
type window uint8

const (
	anyWindow    window = iota
	likelyMinute        // by its metric alone
	minuteWindow
	dayWindow
)

// findViolations takes them from QuotaFailure and ErrorInfo details. Those of the
// text count when there are none, or when details were cut off.
func findViolations(objects []object) (found []violation) {
	stated := statedLimits(objects)
	models := modelsBelow(objects)
	cut := false
	for i := range objects {
		if v, ok := violationOf(&objects[i], models[i], stated); ok {
			found = append(found, v)
		}
		cut = cut || objects[i].braced && !objects[i].closed
	}
	if meta, ok := textMetadata(objects); ok {
		found = append(found, meta)
	}
	if len(found) == 0 || cut {
		found = append(found, stated.told...)
	}
	return found
}

// modelsBelow gives the model that is named in an object inside, as in
// quotaDimensions, by the object's place.
func modelsBelow(objects []object) map[int]string {
	models := map[int]string{}
	for i := range objects {
		o := &objects[i]
		if model := o.get("model"); o.parent >= 0 && model != "" {
			models[o.parent] = model
		}
	}
	return models
}

// violationOf reads one object of a QuotaFailure, or the metadata of an
// ErrorInfo. In the former an absent quotaValue is 0, as proto3 leaves defaults
// out, unless the object was cut or the text states another limit.
func violationOf(o *object, modelBelow string, stated limits) (v violation, ok bool) {
	if !o.braced {
		return v, false
	}
	value, model := "", modelBelow
	for i := range o.pairs {
		switch p := &o.pairs[i]; {
		case p.is("quotaId", "quota_id", "quota_limit"):
			v.id = p.value
		case p.is("quotaMetric", "quota_metric"):
			v.metric = p.value
		case p.is("quotaValue", "quota_value", "quota_limit_value"):
			value = p.value
		case p.is("model"):
			model = cmp.Or(modelBelow, p.value)
		}
	}
	if v.id == "" && v.metric == "" {
		return v, false
	}
	v.model = model
	v.value, v.known = parseCount(value)
	if value == "" && (stated.zero || o.closed && o.name != "metadata" && !stated.above) {
		v.known = true
	}
	return v, true
}

// limits is what the text says about limits.
type limits struct {
	told  []violation
	above bool // one above zero is stated, and none of zero
	zero  bool // one of zero is stated, and none above
}

func statedLimits(objects []object) (l limits) {
	for i := range objects {
		l.told = append(l.told, told(&objects[i])...)
	}
	for _, v := range l.told {
		l.above = l.above || v.known && v.value > 0
		l.zero = l.zero || v.known && v.value == 0
	}
	l.above, l.zero = l.above && !l.zero, l.zero && !l.above
	return l
}

// textMetadata reads ErrorInfo metadata in protobuf's text form, where each
// entry is an object of key and value.
func textMetadata(objects []object) (v violation, ok bool) {
	for i := range objects {
		o := &objects[i]
		switch value := o.get("value"); o.get("key") {
		case "quota_limit":
			v.id, ok = value, true
		case "quota_metric":
			v.metric = value
		case "quota_limit_value":
			v.value, v.known = parseCount(value)
		}
	}
	return v, ok
}

// told reads a message: "Quota exceeded for metric: M, limit: 20, model: X",
// once or more, or a quota's name with a limit behind it.
func told(o *object) (found []violation) {
	for i := range o.pairs {
		p := &o.pairs[i]
		switch {
		case p.is("metric"):
			found = append(found, violation{metric: p.value})
			continue
		case p.is("quotaId"):
			found = append(found, violation{id: p.value})
			continue
		case len(found) == 0:
			continue
		}
		switch v := &found[len(found)-1]; {
		case p.is("limit"):
			v.value, v.known = parseCount(p.value)
		case p.is("model"):
			v.model = p.value
		}
	}
	return found
}

var leadingCount = regexp.MustCompile(`^\d[\d,]{0,17}`)

func parseCount(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.ReplaceAll(leadingCount.FindString(strings.TrimSpace(s)), ",", ""), 10, 64)
	return n, err == nil
}

// quotaNames are a quota's id and metric in lower case.
type quotaNames string

func (v violation) names() quotaNames { return quotaNames(lower(v.id + " " + v.metric)) }

func (n quotaNames) has(parts ...string) bool { return containsAny(string(n), parts...) }

func (n quotaNames) window() window {
	switch {
	case n.has("perday", "per_day"):
		return dayWindow
	case n.has("perminute", "per_minute"):
		return minuteWindow
	case strings.HasSuffix(string(n), "/generate_requests_per_model"): // the paid tier's minute metric; the day's ends in _per_day
		return likelyMinute
	}
	return anyWindow
}

// tools have quotas of their own: the same call without the tool works.
var tools = []string{"grounding", "cachedcontent", "cached_content", "filesearch", "file_search", "urlcontext", "url_context"}

func (n quotaNames) tool() bool { return n.has(tools...) }

func (n quotaNames) paid() bool { return n.has("paidtier", "paid_tier") }

// unit names what is counted, by the shorthand of our own limits.
func (n quotaNames) unit() string {
	switch day := n.window() == dayWindow; {
	case day:
		return n.perDay()
	case n.has("token"):
		return "input_tpm"
	}
	return "rpm"
}

func (n quotaNames) perDay() string {
	if n.has("token") {
		return "tpd"
	}
	return "rpd"
}

func (v violation) evidence() string {
	s := v.id
	if s == "" {
		s = v.metric
	}
	if v.known {
		return "quota " + s + " = " + strconv.FormatInt(v.value, 10)
	}
	return "quota " + s
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
