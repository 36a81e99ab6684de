package tenants

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed openapi.yaml
var documentSource []byte

// Document describes the API, as OpenAPI 3.1 in JSON.
var Document = sync.OnceValue(func() []byte {
	b, err := yaml.YAMLToJSON(documentSource)
	if err != nil {
		panic(err) // our own file, which the tests read
	}
	return b
})

func (v *visit) document() error {
	v.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = v.w.Write(Document()) // the client may have gone
	return nil
}

// listed is a part of the list.
type listed struct {
	Tenants []Summary `json:"tenants"`
	Found   int       `json:"found"`
	Next    *string   `json:"next"` // what to ask for as after; null at the end
}

func (v *visit) list() error {
	if err := v.known("q", "after", "limit"); err != nil {
		return err
	}
	n, err := v.number("limit", 50, 1, 500)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	p, err := v.Book.List(v.r.Context(), v.by.only(ListQuery{Text: q.Get("q"), After: q.Get("after"), Limit: n, Fresh: true}))
	if err != nil {
		return err
	}
	out := listed{Tenants: p.Tenants, Found: p.Found}
	if v.by.Tenant != "" {
		for i := range out.Tenants { // of a list of its own
			out.Tenants[i].Note = ""
		}
	}
	if p.More {
		next := p.Tenants[len(p.Tenants)-1].Name
		out.Next = &next
		q.Set("after", next)
		v.w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, v.r.URL.Path, q.Encode()))
	}
	return v.answer(http.StatusOK, out)
}

// only leaves a tenant nothing but itself.
func (c Caller) only(q ListQuery) ListQuery {
	q.Only = c.Tenant
	return q
}

func (v *visit) show() error {
	a, err := v.Book.Show(v.r.Context(), v.ref)
	if err != nil {
		return err
	}
	v.hide(a)
	return v.tagged(http.StatusOK, a.Tag, a)
}

// hide takes out what is not a tenant's to know: who of the operators did what.
func (v *visit) hide(a *Account) {
	if v.by.Tenant != "" {
		a.ChangedBy, a.Note = "", ""
		if a.Stopped != nil {
			a.Stopped = &Stop{At: a.Stopped.At}
		}
	}
}

// answersOf are the fields of an account that only answers have.
var answersOf = []string{"name", "tenant", "enforced", "teams", "keys", "stopped", "created", "changed", "changed_by"}

func (v *visit) put() error {
	var d Draft
	if err := v.read(&d, answersOf...); err != nil {
		return wrongIf(err, checkNames(v.ref), d.check())
	}
	c, err := v.condition()
	if err != nil {
		return err
	}
	if was, err := v.Book.Show(v.r.Context(), v.ref); err == nil {
		v.act.Before = was.words()
	}
	a, made, err := v.Book.Put(v.r.Context(), v.by.By, v.ref, d, c)
	if err != nil {
		return err
	}
	v.act.After = a.words()
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		v.w.Header().Set("Location", v.r.URL.EscapedPath())
	}
	return v.tagged(status, a.Tag, a)
}

// words are what is set, in short: for the record.
func (a *Account) words() string {
	out := a.Words()
	if a.Note != "" {
		out = append(out, strconv.Quote(cut(a.Note)))
	}
	if len(out) == 0 {
		return "nothing set"
	}
	return strings.Join(out, ", ")
}

// Words are what is set, in short: "rpm 300", "weight 3".
func (t Terms) Words() (out []string) {
	for _, x := range limitNames {
		n, set := t.Limits[x.name]
		switch {
		case set && n == nil:
			out = append(out, x.name+" none")
		case set:
			out = append(out, x.name+" "+strconv.FormatInt(*n, 10))
		}
	}
	if t.Weight != nil {
		out = append(out, "weight "+strconv.FormatInt(*t.Weight, 10))
	}
	return out
}

func (v *visit) delete() error {
	c, err := v.condition()
	if err != nil {
		return err
	}
	if err := v.Book.Delete(v.r.Context(), v.by.By, v.ref, c); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (v *visit) teams() error {
	list, err := v.Book.Teams(v.r.Context(), v.ref.Tenant)
	if err != nil {
		return err
	}
	for _, t := range list {
		v.hide(t)
	}
	return v.answer(http.StatusOK, struct {
		Teams []*Account `json:"teams"`
	}{list})
}

func (v *visit) usage() error {
	if err := v.known("from", "to", "step", "by", "team", "key", "format"); err != nil {
		return err
	}
	q := v.r.URL.Query()
	if _, err := v.Book.Show(v.r.Context(), v.ref); err != nil {
		return err
	}
	u, err := v.Book.Usage(v.r.Context(), UsageQuery{
		Tenant: v.ref.Tenant, From: q.Get("from"), To: q.Get("to"), Step: q.Get("step"), By: q.Get("by"), Team: q.Get("team"), Key: q.Get("key"),
	})
	if err != nil {
		return at(inQuery, err)
	}
	switch format := v.format(q); format {
	case "json":
		return v.answer(http.StatusOK, u)
	case "csv":
		return v.csv(u)
	default:
		return at(inQuery, wrong("format", "%q: want json or csv", cut(format)))
	}
}

// format is by the parameter, else by what is accepted.
func (v *visit) format(q url.Values) string {
	switch {
	case q.Get("format") != "":
		return q.Get("format")
	case strings.HasPrefix(v.r.Header.Get("Accept"), "text/csv"):
		return "csv"
	}
	return "json"
}

// csv writes nothing until all of it is there: half a file would look whole.
func (v *visit) csv(u *Usage) error {
	var b bytes.Buffer
	if err := u.CSV(&b); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="nightshift-usage-%s.csv"`, u.From.Format(time.DateOnly)))
	_, _ = v.w.Write(b.Bytes())
	return nil
}
