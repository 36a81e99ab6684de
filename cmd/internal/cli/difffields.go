package cli

import (
	"slices"
	"strings"

	"nightshift/jobs"
)

// namedField is a field that a flag names.
type namedField struct {
	flag, field string
}

// namedFields are in the order in which the flags are listed.
func (o *diffOptions) namedFields() (list []namedField) {
	for _, name := range o.Fields {
		list = append(list, namedField{"--field " + name, name})
	}
	add := func(flag string, filters []string) {
		for _, text := range filters {
			for _, name := range jobs.FilterFields(text) {
				list = append(list, namedField{flag + " " + text, name})
			}
		}
	}
	add("--accept", o.Accept)
	add("--reject", o.Reject)
	return list
}

// knows refuses a field that the answers have not: a filter that takes nothing because
// of a slip of the pen would be believed to have decided.
func (r *diffReport) knows(o *diffOptions, live *jobs.Live) error {
	if len(r.Fields) == 0 {
		return nil // only failed rows: nobody knows their fields
	}
	for _, n := range o.namedFields() {
		switch {
		case slices.ContainsFunc(r.Fields, func(c *fieldCount) bool { return c.Field == n.field || c.Column == n.field }):
		case slices.Contains(r.Uncompared, n.field):
			return usageErrorf("%s: %s has no column %s: say which with --map %s=COLUMN; there are: %s",
				n.flag, live.Path, n.field, n.field, strings.Join(live.Columns, ", "))
		default:
			return usageErrorf("%s: the answers have no field %q; there are: %s", n.flag, n.field, strings.Join(r.fieldNames(), ", "))
		}
	}
	return nil
}

func (r *diffReport) fieldNames() []string {
	names := make([]string, 0, len(r.Fields))
	for _, c := range r.Fields {
		names = append(names, c.Field)
	}
	return names
}
