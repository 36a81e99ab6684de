package gemini

import (
	"fmt"
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
	anyWindow window = iota
	minuteWindow
	dayWindow
)

// findViolations takes them from QuotaFailure and ErrorInfo details; only when
// there are none, from the text.
func findViolations(objects []object) (found []violation) {
	stated := statedLimits(objects)
	for i := range objects {
		if v, ok := violationOf(objects, i, stated); ok {
			found = append(found, v)
		}
	}
	if meta, ok := textMetadata(objects); ok {
		found = append(found, meta)
	}
	if len(found) > 0 {
		return found
	}
	for i := range objects {
		found = append(found, told(&objects[i])...)
	}
	return found
}

// violationOf reads one object of a QuotaFailure, or the metadata of an
// ErrorInfo. In the former an absent quotaValue is 0, as proto3 leaves defaults
// out, unless the object was cut or the text states another limit.
func violationOf(objects []object, i int, stated limits) (violation, bool) {
	o := &objects[i]
	v := violation{id: o.get("quotaId", "quota_id", "quota_limit"), metric: o.get("quotaMetric", "quota_metric"), model: o.get("model")}
	if !o.braced || v.id == "" && v.metric == "" {
		return v, false
	}
	for j := range objects {
		if objects[j].parent == i && objects[j].has("model") {
			v.model = objects[j].get("model")
		}
	}
	value := o.get("quotaValue", "quota_value", "quota_limit_value")
	v.value, v.known = parseCount(value)
	if value == "" && o.closed && o.name != "metadata" && !stated.above {
		v.known = true
	}
	return v, true
}

// limits is what the text says about limits.
type limits struct{ above bool } // one above zero is stated, and none of zero

func statedLimits(objects []object) (l limits) {
	zero := false
	for i := range objects {
		for _, v := range told(&objects[i]) {
			if v.known {
				l.above = l.above || v.value > 0
				zero = zero || v.value == 0
			}
		}
	}
	l.above = l.above && !zero
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
	for _, p := range o.pairs {
		switch strings.ToLower(p.key) {
		case "metric":
			found = append(found, violation{metric: p.value})
			continue
		case "quotaid":
			found = append(found, violation{id: p.value})
			continue
		}
		if len(found) == 0 {
			continue
		}
		v := &found[len(found)-1]
		switch strings.ToLower(p.key) {
		case "limit":
			v.value, v.known = parseCount(p.value)
		case "model":
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

func (v violation) names() string { return strings.ToLower(v.id + " " + v.metric) }

func (v violation) window() window {
	n := v.names()
	switch {
	case strings.Contains(n, "perday") || strings.Contains(n, "per_day"):
		return dayWindow
	case strings.Contains(n, "perminute") || strings.Contains(n, "per_minute"),
		strings.HasSuffix(n, "/generate_requests_per_model"): // the paid tier's minute metric; the day's ends in _per_day
		return minuteWindow
	}
	return anyWindow
}

// tools have quotas of their own: the same call without the tool works.
var tools = []string{"grounding", "cachedcontent", "cached_content", "filesearch", "file_search", "urlcontext", "url_context"}

func (v violation) tool() bool { return containsAny(v.names(), tools...) }

func (v violation) paid() bool { return containsAny(v.names(), "paidtier", "paid_tier") }

// unit names what is counted, by the shorthand of our own limits.
func (v violation) unit() string {
	n, day := v.names(), v.window() == dayWindow
	switch {
	case strings.Contains(n, "token") && day:
		return "tpd"
	case strings.Contains(n, "token"):
		return "input_tpm"
	case day:
		return "rpd"
	}
	return "rpm"
}

func (v violation) evidence() string {
	s := v.id
	if s == "" {
		s = v.metric
	}
	if v.known {
		return fmt.Sprintf("quota %s = %d", s, v.value)
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
