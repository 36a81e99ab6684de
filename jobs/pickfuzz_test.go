package jobs

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzPickFilter: a filter takes what each of its terms takes, whatever stands around them;
// the fields that it names are those of what it takes.
func FuzzPickFilter(f *testing.F) {
	for _, text := range []string{
		"all", "field=title, change>50%", "status=added,id=7", "change <= 12.5", "new~a,b", " live~^$", "all,", ",", "", "id=@x", "change>1e3", "field=",
		"field=new~x", "status=same", "new~(", "field=a,new~field=b", "change>" + strings.Repeat("9", 400), "id=a=b", "field= a",
	} {
		f.Add(text, "7", "title", `"old"`, `"a,b"`, uint8(0))
		f.Add(text, "8", "price", `10`, `12.5`, uint8(0))
		f.Add(text, "9", "tags", ``, `["x"]`, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text, row, field, live, fresh string, change uint8) {
		if strings.Contains(text, "@") {
			return // the name of a file
		}
		filter, err := ParsePickFilter(text)
		if err != nil {
			if _, again := ParsePickFilter(text); again == nil || again.Error() != err.Error() || strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%q: %v, and then %v", text, err, again)
			}
			return
		}
		x := Difference{Row: row, Field: field, Column: field, Live: asJSON(live), New: asJSON(fresh), Change: Changes()[int(change)%len(Changes())]}
		all := true
		for _, term := range filterTerms(text) {
			one, err := ParsePickFilter("  " + term)
			if err != nil {
				t.Fatalf("%q is taken, and %q of it is not: %v", text, term, err)
			}
			all = all && one.Takes(x)
		}
		if got := filter.Takes(x); got != all {
			t.Errorf("%q takes %+v: %v, its terms: %v", text, x, got, all)
		}
		for _, name := range FilterFields(text) {
			if name == "" || all && name != field {
				t.Errorf("%q names field %q and takes %+v", text, name, x)
			}
		}
	})
}

// asJSON is the text itself, where it is JSON.
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text)
	return b
}

// FuzzTaskID: what is read as the id of a task is the one that such a task has.
func FuzzTaskID(f *testing.F) {
	for _, id := range []string{"r1-00000001-0", "r1-1-0", "-1-0", "r-+1-0", "r--1-0", "r-123456789-12", "r-1-1-1", "", "r-0x1-0", "é-00000000-0"} {
		f.Add(id, int64(1), 3)
	}
	f.Fuzz(func(t *testing.T, id string, index int64, gen int) {
		if got, err := ParseTaskID(id); err == nil && got.ID() != id {
			t.Errorf("%q is read as %+v, whose id is %q", id, got, got.ID())
		}
		want := Task{Run: strings.ReplaceAll(id, "-", "") + "r", Index: index & (1<<62 - 1), Gen: gen & (1<<30 - 1)}
		if got, err := ParseTaskID(want.ID()); err != nil || got != want {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
		b, err := json.Marshal(Payload{V: 1, Run: want.Run, Index: want.Index, Gen: want.Gen, Row: id})
		var p Payload
		if err != nil || json.Unmarshal(b, &p) != nil || p.Index != want.Index || p.Gen != want.Gen || p.Row != strings.ToValidUTF8(id, "\uFFFD") && p.Row != string([]rune(id)) {
			t.Errorf("%q is carried as %s", id, b)
		}
	})
}
