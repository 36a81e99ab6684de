package gemini

import "nightshift/limiter"

// rampsKey is a hash of all ramps of a scope: RampName → "REVISION JSON", and
// fence and at, of the last leader that wrote, and revisions, the last one given. It
// has the hash tag of the limiter's scope.
func rampsKey(s limiter.Scope) string { return "nightshift:{limiter:" + s.String() + "}:ramps" }

// rampMeterRoot begins the names of what is counted of ramps, as meterKeys does.
func rampMeterRoot(s limiter.Scope) string { return rampsKey(s) + ":meter" }
