package gemini

import "testing"

func TestFan(t *testing.T) {
	a, b := &kept{}, &kept{}
	f := Fan(a, nil, b)
	f.Put(Record{Row: "1"})
	if len(a.list) != 1 || b.last(t).Row != "1" {
		t.Errorf("%v %v", a.list, b.list)
	}
	Fan().Put(Record{}) // nobody keeps it
}
