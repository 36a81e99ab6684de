package jobs

import "slices"

// outputDifferences names what of a run's outputs differs: "system instruction" where
// it does in all of them, "system instruction of output title" where in some.
func outputDifferences(a, b []Output) []string {
	if len(a) == 0 || len(b) == 0 {
		if len(a) != len(b) {
			return []string{"outputs"}
		}
		return nil
	}
	var whole []string // outputs that one of them has alone
	in := map[string][]string{}
	both := 0
	for _, o := range b {
		at := slices.IndexFunc(a, func(was Output) bool { return was.Name == o.Name })
		if at < 0 {
			whole = append(whole, "output "+o.Name+" is new")
			continue
		}
		both++
		for _, part := range partsThatDiffer(a[at], o) {
			in[part] = append(in[part], o.Name)
		}
	}
	for _, o := range a {
		if !slices.ContainsFunc(b, func(is Output) bool { return is.Name == o.Name }) {
			whole = append(whole, "output "+o.Name+" is gone")
		}
	}
	var out []string
	for _, part := range []string{"template", "system instruction", "turns", "settings"} {
		switch names := in[part]; {
		case len(names) == 0:
		case len(names) == both && both > 1:
			out = append(out, part)
		default:
			for _, name := range names {
				out = append(out, part+" of output "+name)
			}
		}
	}
	return append(out, whole...)
}

// partsThatDiffer are those of one output.
func partsThatDiffer(a, b Output) (out []string) {
	for _, d := range []struct {
		name  string
		other bool
	}{
		{"template", a.Template != b.Template},
		{"system instruction", a.System != b.System},
		{"turns", encoded(a.Turns) != encoded(b.Turns)},
		{"settings", encoded(a.Settings) != encoded(b.Settings)},
	} {
		if d.other {
			out = append(out, d.name)
		}
	}
	return out
}
