package jobs

import "testing"

// TestOutputDifferences: what changed is named, in all outputs or in which.
func TestOutputDifferences(t *testing.T) {
	title, text := Output{Name: "title", Template: "t {{.id}}", System: "s"}, Output{Name: "text", Template: "x {{.id}}", System: "s"}
	with := func(o Output, change func(*Output)) Output { change(&o); return o }
	system := func(o *Output) { o.System = "other" }
	longer := func(o *Output) { o.Settings.MaxOutputTokens = 5 }
	for _, c := range []struct {
		b    []Output
		want []string
	}{
		{[]Output{title, text}, nil},
		{[]Output{with(title, system), with(text, system)}, []string{"system instruction"}},
		{[]Output{with(title, system), with(text, longer)}, []string{"system instruction of output title", "settings of output text"}},
		{[]Output{title}, []string{"output text is gone"}},
		{[]Output{title, text, {Name: "alt"}}, []string{"output alt is new"}},
		{nil, []string{"outputs"}},
	} {
		a, b := Spec{Outputs: []Output{title, text}}, Spec{Outputs: c.b}
		wantEqual(t, differences(a, b), c.want...)
	}
}

// TestRepeatsAreCounted: rows that ask the same as an earlier one, but for those whose
// answer is taken over.
func TestRepeatsAreCounted(t *testing.T) {
	p, err := Prepare(t.Context(), Input{Path: file(t, "r.csv", []byte("id,w\na,x\nb,y\nc,x\nd,x\ne,y\n"))}, specOf("{{.w}}"), PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l := newLookup(p)
	if n, m := p.Repeats(nil), p.Repeats(l); n != 3 || m != 3 {
		t.Errorf("%d, %d; want 3", n, m)
	}
	l.found[1].place, l.found[4].place = 1, 1 // b's and e's answer is there
	if n := p.Repeats(l); n != 2 {
		t.Errorf("%d without those that are answered, want 2", n)
	}
}
