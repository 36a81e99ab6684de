package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// nowPage is the page for a first look: what is closed, who has the quota, who
// waits for it, what was decided, and what to do.
func (d *Dashboard) nowPage() page {
	p := page{path: "/", nav: "Now", title: "now", template: "now", live: true, load: d.loadNow}
	if d.cfg.Overview == nil {
		p.template = "unwatched"
	}
	return p
}

// longestQuery bounds what somebody may look for.
const longestQuery = 200

func (d *Dashboard) loadNow(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	ask := NowQuery{Lane: cut(q.Get("lane"), longestQuery), Text: cut(oneLine(q.Get("q")), longestQuery)}
	var err error
	if ask.Page, err = pageNumber(q, "page"); err != nil {
		return nil, err
	}
	if ask.Paths, err = pageNumber(q, "pagepaths"); err != nil {
		return nil, err
	}
	if d.cfg.Overview != nil {
		return d.cfg.Overview(ctx, ask)
	}
	var o Overview
	if d.cfg.Pauses != nil {
		o.Pauses, err = d.cfg.Pauses(ctx)
	}
	return o, err
}

// pageNumber reads which page of a list is asked for, from 1 on.
func pageNumber(q url.Values, name string) (int, error) {
	s := q.Get(name)
	if s == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, badQuery("%s is %.40q: want a page's number, from 1 on", name, s)
	}
	return n, nil
}

// Pages are the links between the pages of a list.
type Pages struct {
	Param, What        string // "page", "lanes"
	At, Last           int
	From, To, Of       int
	Back, Forth, Start string // addresses; "" where there is none
}

// Pages is where a list of found lines stands, of which a page has some.
func (s *shown) Pages(param, what string, size, found int) Pages {
	at, err := pageNumber(s.Query, param)
	if err != nil {
		at = 1
	}
	p := Pages{Param: param, What: what, At: at, Last: max(1, (found+size-1)/size), Of: found}
	p.From, p.To = min(found, (at-1)*size+1), min(found, at*size)
	if at > 1 {
		p.Start, p.Back = s.With(param, ""), s.With(param, min(at-1, p.Last))
	}
	if at < p.Last {
		p.Forth = s.With(param, at+1)
	}
	return p
}

// Size is how many lines a page of a list has.
func (s *shown) Size(what string) int {
	return map[string]int{"lanes": LanesOnPage, "paths": PathsOnPage, "who": WhoOnPage, "runs": RunsOnList, "failed": FailedOnPage, "tenants": TenantsOnPage}[what]
}

// part is one thing of a page with the page around it, for a template of its own.
type part struct {
	Shown *shown
	Data  any
}

// Part hands a template one thing of the page.
func (s *shown) Part(data any) part { return part{s, data} }
