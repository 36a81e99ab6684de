package jobs

import (
	"bytes"
	"strings"
	"testing"
)

func liveOf(t *testing.T, name, content, key string) *Live {
	t.Helper()
	l, err := ReadLive(t.Context(), Input{Path: file(t, name, []byte(content))}, key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestDiff compares by value: numbers and truth values of a CSV file are what they say.
func TestDiff(t *testing.T) {
	t.Parallel()
	live := liveOf(t, "live.csv", "id,title,price,ok,tags,note\n7,Green  tea,10.50,true,\"[1, 2]\",\n8,x,1,,,\n9,y,2,,,\n", "id")
	d := &Differ{Live: live, Map: map[string]string{"text": "note"}}
	words := func(line string) string {
		list, _, others, err := d.Of([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, x := range list {
			out = append(out, x.Field+" "+string(x.Change))
		}
		return strings.Join(append(out, others...), ", ")
	}
	for line, want := range map[string]string{
		`{"id":"7","status":"done","parsed":{"title":"Green tea","price":10.5,"ok":true,"tags":[1,2],"text":"new","more":1}}`: "title same, price same, ok same, tags same, text added, more",
		`{"id":"7","status":"done","parsed":{"title":"Green Tea","price":11,"ok":false,"tags":[2,1],"text":null}}`:            "title changed, price changed, ok changed, tags changed, text same",
		`{"id":"8","status":"blocked","error":{"cause":"safety"}}`:                                                            "output failed",
		`{"id":"77","status":"done","parsed":{"title":"T"}}`:                                                                  "title missing",
	} {
		if got := words(line); got != want {
			t.Errorf("%s\n%s, want\n%s", line, got, want)
		}
	}
	if n, first := live.Others(map[string]bool{"7": true}); n != 2 || first != "8" {
		t.Errorf("%d others, the first %s", n, first)
	}
}

// TestDiffBadLive: what keeps rows from being told apart is said with its line.
func TestDiffBadLive(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"id,a\n1,x\n1,y\n": "the id is used in line 2 too",
		"sku,a\n1,x\n":     "--key",
		"id,a\n1\n":        "2",
	} {
		_, err := ReadLive(t.Context(), Input{Path: file(t, "live.csv", []byte(content))}, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", content, err, want)
		}
	}
}

// TestDiffMarks: how much changed, and what.
func TestDiffMarks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		live, now, left, right string
		percent                float64
	}{
		{`"fresh green tea"`, `"fresh black tea"`, "fresh [-green -]tea", "fresh {+black +}tea", 100.0 / 3},
		{`"a fresh green tea"`, `"one fresh black tea"`, "[-a fresh green -]tea", "{+one fresh black +}tea", 50},
		{`"10"`, `15`, "[-10-]", "{+15+}", 50},
		{`"緑茶です"`, `"紅茶です"`, "[-緑-]茶です", "{+紅+}茶です", 25},
	} {
		x := Difference{Change: Changed, Live: []byte(tc.live), New: []byte(tc.now)}
		left, right := x.Marked()
		if left != tc.left || right != tc.right || x.Percent() < tc.percent-0.01 || x.Percent() > tc.percent+0.01 {
			t.Errorf("%s, %s: %q %q %.2f %%", tc.live, tc.now, left, right, x.Percent())
		}
	}
}

// TestWriteInto: accepted values are put in, every other byte stays.
func TestWriteInto(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, out string }{
		"crlf.csv": {
			"\ufeffid,title,price\r\n7,\"old, \"\"x\"\"\",1\r\n8,\"a\nb\", 2 \r\n9,c,3",
			"\ufeffid,title,price\r\n7,\"Tea, \"\"green\"\"\",1\r\n8,\"a\nb\",12\r\n9,c,3",
		},
		"t.tsv":   {"id\ttitle\tprice\n7\told\t1\n8\ta,b\t2\n", "id\ttitle\tprice\n7\t\"Tea, \"\"green\"\"\"\t1\n8\ta,b\t12\n"},
		"l.jsonl": {"{\"id\": 7 , \"title\":\"a{\"}\n\n{\"id\":\"8\",\"price\": 2.0, \"x\": [ 1 ]}\n", "{\"id\": 7 , \"title\":\"Tea, \\\"green\\\"\"}\n\n{\"id\":\"8\",\"price\": 12, \"x\": [ 1 ]}\n"},
		// Keys that an object lacks are added, spaced as its others.
		"one.jsonl":   {"{\"id\":\"8\"}\n", "{\"id\":\"8\",\"price\":12}\n"},
		"space.jsonl": {"{\"id\": 8}\n{\"a\": 1 , \"id\" : \"7\" }", "{\"id\": 8, \"price\": 12}\n{\"a\": 1 , \"id\" : \"7\", \"title\": \"Tea, \\\"green\\\"\" }"},
		"lines.json":  {"[\n  {\n    \"id\": \"8\"\n  }\n]\n", "[\n  {\n    \"id\": \"8\",\n    \"price\": 12\n  }\n]\n"},
		"cut.csv":     {"id,price\n7,1\n8,2\n", "id,price\n7,1\n8,12\n"}, // no such column: it is not done
		"a.json":      {"[\n  {\"id\": \"8\", \"price\": 2}\n]\n", "[\n  {\"id\": \"8\", \"price\": 12}\n]\n"},
	} {
		var b bytes.Buffer
		title, price := &Put{Row: "7", Column: "title", Value: []byte(`"Tea, \"green\""`)}, &Put{Row: "8", Column: "price", Value: []byte(`12`)}
		err := liveOf(t, name, tc.in, "id").WriteInto(&b, []*Put{title, price})
		if err != nil || !price.Done || title.Done != strings.Contains(tc.out, "green") || b.String() != tc.out {
			t.Errorf("%s: title %v, price %v, %v\n%q, want\n%q", name, title.Done, price.Done, err, b.String(), tc.out)
		}
	}
}

// TestPickFilter: all terms must hold; what is mistyped is refused.
func TestPickFilter(t *testing.T) {
	t.Parallel()
	x := Difference{Row: "7", Field: "price", Column: "cost", Change: Changed, Live: []byte(`"10"`), New: []byte(`16`)}
	ids := file(t, "ids.txt", []byte("6\n7\n"))
	for text, want := range map[string]bool{
		"all": true, "field=price,change>50%": true, "field=price, change > 60 %": false, "field=cost": true, "field=title": false,
		"status=added": false, "status=changed,change<=60%": true, "id=7": true, "ids=@" + ids: true, "new~^1[0-9]$": true, "field=price,live~^(9,|1)0$": true,
	} {
		f, err := ParsePickFilter(text)
		if err != nil || f.Takes(x) != want {
			t.Errorf("%q takes it: %v (%v)", text, !want, err)
		}
	}
	for _, text := range []string{"", "fild=x", "change>x", "status=failed", "new~(", "ids=@/no/such", "id=@" + ids} {
		if _, err := ParsePickFilter(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestPicks: decisions stay with the run, and are about one value: a row that was made
// again is open.
func TestPicks(t *testing.T) {
	t.Parallel()
	b := newBench(t, miniClient(t))
	run := b.enqueue(patient("n", 0), numbered(3), EnqueueOptions{}).Run.ID
	x := Difference{Row: "r2", Index: 2, Field: "title", Change: Changed, Live: []byte(`"a"`), New: []byte(`"b"`)}
	p, err := b.Picks(b.ctx, run)
	b.put(err)
	if p.Any() || !p.Set(x, Accepted) || p.Set(Difference{Index: 1, Field: "title", Change: NoGood}, Accepted) || p.Set(Difference{Field: "title", Change: Same}, Accepted) {
		t.Error("only what changed can be decided about")
	}
	p.How = PickedBy{Key: "sku", Map: map[string]string{"title": "name"}}
	b.put(b.SavePicks(b.ctx, run, p))
	p, err = b.Picks(b.ctx, run)
	b.put(err)
	again := x
	again.New = []byte(`"c"`)
	if p.Get(x) != Accepted || p.Get(again) != Open || p.How.Key != "sku" || p.Counts()[0] != (PickCount{"title", 1, 0}) {
		t.Errorf("%v, %v, %+v %+v", p.Get(x), p.Get(again), p.How, p.Counts())
	}
	edited, added := x, x
	edited.Live, added.Live, added.Change = []byte(`"A"`), nil, Added
	if p.Stale(x) || !p.Stale(edited) || !p.Stale(added) || !p.Set(added, Accepted) || p.Stale(added) || !p.Stale(x) {
		t.Error("a live value that was edited since is stale, the one that was compared is not")
	}
	if err := b.SavePicks(b.ctx, "nosuch", p); err == nil {
		t.Error("decisions about no run were kept")
	}
}
