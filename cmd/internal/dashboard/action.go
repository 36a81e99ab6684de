package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Action is something that people may do here, by a form that is posted to
// /do/NAME. What it does and every refusal is recorded.
type Action struct {
	Name  string // "pause"
	Title string // the word for it: "Pause"
	Role  Role   // who may; "" is RoleOperate
	// Ask gives the question of a form that has to be confirmed on a page of its own;
	// "" does it at once, as does a nil Ask.
	Ask func(form url.Values) string
	// Preview gives the question instead of Ask, where it has to look first: what the
	// form would change, from what to what. Its error is what is wrong with the form.
	Preview func(ctx context.Context, by Viewer, form url.Values) (question string, err error)
	// Do does it. The outcome is shown and recorded; of one that failed, as far as
	// it came. An error's method Hint() string, if it has one, is the command that
	// would work.
	Do func(ctx context.Context, by Viewer, form url.Values) (Outcome, error)
}

// Outcome is what came of an action.
type Outcome struct {
	Said   string // one sentence for who did it
	Target string // what it was done to: "class bulk"
	Before string // how that was, where it says something: "$40.00"
	After  string
}

const (
	actFor  = 10 * time.Second // the longest that an action may take
	maxForm = 64 << 10         // bytes of a form
)

// confirmPage asks whether somebody means it.
type confirmPage struct {
	Action   Action
	Question string
	Fields   [][2]string
	Back     string
}

func (d *Dashboard) routeActions(mux *http.ServeMux) {
	for _, a := range d.cfg.Actions {
		mux.HandleFunc("POST /do/"+a.Name, func(w http.ResponseWriter, r *http.Request) { d.serveAction(w, r, a) })
	}
}

// serveAction takes a form: refuses it, asks once more, or does what it says.
func (d *Dashboard) serveAction(w http.ResponseWriter, r *http.Request, a Action) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "the form cannot be read: "+err.Error())
		return
	}
	form := r.PostForm
	if reason := d.mayNot(r.Context(), a); reason != "" {
		d.record(r, AuditEntry{What: a.Name, Target: form.Get("target"), Result: ResultRefused, Text: reason})
		d.answerAction(w, r, http.StatusForbidden, said{reason, Bad})
		return
	}
	if err := d.redisAway(r.Context()); err != nil {
		d.answerAction(w, r, http.StatusServiceUnavailable, said{err.Error() + "; nothing was changed", Bad})
		return
	}
	if form.Get("confirmed") != "yes" {
		question, err := a.question(r.Context(), form)
		if err != nil {
			d.answerAction(w, r, d.failed(err), said{withHint(d.plain(err)), Bad})
			return
		}
		if question != "" {
			d.askAgain(w, r, a, question)
			return
		}
	}
	out, err := d.perform(r, a.Name, form.Get("target"), func(ctx context.Context) (Outcome, error) {
		return a.Do(ctx, viewerOf(ctx), form)
	})
	if err != nil {
		d.answerAction(w, r, d.failed(err), said{withHint(d.plain(err)), Bad})
		return
	}
	d.answerAction(w, r, http.StatusOK, said{out.Said, Good})
}

// plain says that Redis does not answer where an error means that.
func (d *Dashboard) plain(err error) error {
	if d.cfg.Away == nil {
		return err
	}
	return cmp.Or(d.cfg.Away(err), err)
}

// redisAway says that Redis does not answer, before an action waits for it.
func (d *Dashboard) redisAway(ctx context.Context) error {
	if d.cfg.Away == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Patience)
	defer cancel()
	return d.cfg.Away(d.cfg.Redis.Ping(ctx).Err())
}

// failed is the status of an action that failed: 503 where it may be tried again as it is.
func (d *Dashboard) failed(err error) int {
	if d.cfg.Away != nil && d.cfg.Away(err) != nil {
		return http.StatusServiceUnavailable
	}
	return http.StatusConflict
}

func (a Action) question(ctx context.Context, form url.Values) (string, error) {
	switch {
	case a.Preview != nil:
		ctx, cancel := context.WithTimeout(ctx, actFor)
		defer cancel()
		return a.Preview(ctx, viewerOf(ctx), form)
	case a.Ask != nil:
		return a.Ask(form), nil
	}
	return "", nil
}

// mayNot says why somebody may not do it; "" when they may.
func (d *Dashboard) mayNot(ctx context.Context, a Action) string {
	switch v := viewerOf(ctx); {
	case !d.cfg.Write:
		return "This dashboard is read-only: it was started without --write (dashboard.write)."
	case !v.Role.may(cmp.Or(a.Role, RoleOperate)):
		return "You may only look: log in with the operators' token to do this."
	}
	return ""
}

// perform does something for whoever asked, and records it.
func (d *Dashboard) perform(r *http.Request, what, target string, do func(context.Context) (Outcome, error)) (Outcome, error) {
	// What has begun is done, also when its page is closed meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), actFor)
	defer cancel()
	out, err := do(ctx)
	e := AuditEntry{What: what, Target: cmp.Or(out.Target, target), Before: out.Before, After: out.After, Result: ResultDone, Text: out.Said}
	if err != nil {
		e.Result, e.Text = ResultFailed, withHint(d.plain(err))
	}
	d.record(r, e)
	if d.cfg.Forget != nil {
		d.cfg.Forget()
	}
	d.loads.forget()
	d.live.nudge()
	return out, err
}

// answerAction leads back to the page that the form was on; who wants no page gets
// the sentence as JSON.
func (d *Dashboard) answerAction(w http.ResponseWriter, r *http.Request, status int, s said) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		if status >= http.StatusBadRequest {
			refuse(w, r, status, s.Text)
			return
		}
		answerJSON(w, status, map[string]string{"said": s.Text})
		return
	}
	leaveSaid(w, r, s)
	http.Redirect(w, r, localPath(r.PostForm.Get("back")), http.StatusSeeOther)
}

// askAgain shows the question, with the form's fields to go with the answer.
func (d *Dashboard) askAgain(w http.ResponseWriter, r *http.Request, a Action, question string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refuse(w, r, http.StatusPreconditionRequired, question+" Send confirmed=yes with it.")
		return
	}
	p := confirmPage{Action: a, Question: question, Back: localPath(r.PostForm.Get("back"))}
	for name, values := range r.PostForm {
		for _, v := range values {
			if name != "confirmed" {
				p.Fields = append(p.Fields, [2]string{name, v})
			}
		}
	}
	s := d.shownTo(r)
	s.Title, s.Data = a.Title, p
	d.showPage(w, r, http.StatusOK, "confirm", s)
}

// doForm is a button that does something, as the template "do" draws it.
type doForm struct {
	Name, Label, Back string
	Fields            [][2]string
}

// Do makes a button for an action with the fields of its form, by turns of name
// and value. It is nothing for who may not press it.
func (s *shown) Do(name, label string, fields ...any) *doForm {
	if !s.May {
		return nil
	}
	f := &doForm{Name: name, Label: label, Back: s.Self()}
	for i := 0; i+1 < len(fields); i += 2 {
		f.Fields = append(f.Fields, [2]string{text(fields[i]), text(fields[i+1])})
	}
	return f
}
