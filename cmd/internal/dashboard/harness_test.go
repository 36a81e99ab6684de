package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// fullSources fill every page that there is, as on a busy morning. Who adds a page
// adds its source here, and TestPagesInABrowser opens it.
func fullSources(now func() time.Time) Sources {
	s := Sources{
		Overview: func(context.Context, NowQuery) (Overview, error) { return busy(now()), nil },
		Pauses:   func(context.Context) ([]PauseView, error) { return busy(now()).Pauses, nil },
		Audit:    func(context.Context, AuditQuery) (AuditView, error) { return busyAudit(now()), nil },
	}
	addRunSources(&s, now)
	addTenantSources(&s, now)
	return s
}

func busyAudit(now time.Time) AuditView {
	return AuditView{More: true, Whats: []string{"pause", "resume"}, Entries: []AuditEntry{
		{At: now, Who: "ana (dashboard)", Role: RoleOperate, From: "10.0.0.7", What: "pause", Target: "class bulk", Before: "runs", After: "paused (operator by ana)", Result: ResultDone, Text: "class bulk is paused."},
		{At: now.Add(-time.Minute), Who: "dashboard", Role: RoleView, From: "10.0.0.9", What: "resume", Target: "class bulk", Result: ResultRefused, Text: "You may only look."},
	}}
}

// pauseNothing is an action that asks first.
func pauseNothing() Action {
	return Action{
		Name: "pause", Title: "Pause", Ask: func(form url.Values) string { return "Pause " + form.Get("target") + "?" },
		Do: func(_ context.Context, by Viewer, form url.Values) (Outcome, error) {
			return Outcome{Said: form.Get("target") + " is paused by " + by.By(), Target: "class " + form.Get("target"), Before: "runs", After: "paused"}, nil
		},
	}
}

// screens are what a page has to be right on.
var screens = []struct {
	name, theme   string
	width, height int64
}{{"", "light", 1440, 900}, {"-dark", "dark", 1440, 900}, {"-phone", "light", 390, 844}}

// inspect looks at the page that is open on each screen: nothing on the console,
// nothing serious by axe-core, nothing wider than the screen.
func (b *tab) inspect(name string) {
	b.t.Helper()
	for _, s := range screens {
		b.screen(s.width, s.height, s.theme)
		b.until("matchMedia('(prefers-color-scheme: " + s.theme + ")').matches && innerWidth == " + fmt.Sprint(s.width))
		b.until(fmt.Sprintf("document.documentElement.scrollWidth == %d", s.width)) // charts fit in a moment later
		b.axe(name + s.name)
		b.picture(name + s.name)
		b.clean(name + s.name)
	}
}

// axe lets axe-core look for what keeps people out.
func (b *tab) axe(where string) {
	b.t.Helper()
	source, err := os.ReadFile("testdata/axe/node_modules/axe-core/axe.min.js")
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		b.t.Log("axe-core is not installed (npm ci in testdata/axe): pages are not looked at by it")
		return
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if b.read("typeof axe") == "undefined" {
		if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](string(source)+";0")); err != nil {
			b.t.Fatal(err)
		}
	}
	b.until(`window.axeSays !== 1 && (window.axeSays = 1, axe.run(document, {resultTypes: ["violations"]}).then(r => { window.axeSays = JSON.stringify(
		r.violations.filter(v => v.impact == "serious" || v.impact == "critical").map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html).join(" | ").slice(0, 500))) }), true)`)
	b.until("window.axeSays !== 1")
	var found []string
	if err := json.Unmarshal([]byte(b.read("window.axeSays")), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range found {
		b.t.Errorf("%s: %s", where, f)
	}
}

// TestPagesInABrowser opens each page that is registered, and what comes of an
// action, in the light, in the dark and on a phone.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Write: true, Token: testToken, ViewToken: testViewToken, Sources: fullSources(time.Now), Actions: operatorActions(), TenantOf: acmesToken})
	b := newTab(t, d)
	b.look("/audit?who=ana", "Token")
	b.inspect("login")
	b.typeInto("#name", "ana")
	b.typeInto("#token", testToken+"\r")
	b.until("location.pathname + location.search == '/audit?who=ana' && document.body.innerText.includes('ana, may act')")
	for _, p := range d.pages {
		b.look(p.pathOf(), "may act")
		b.inspect(strings.Trim(strings.ReplaceAll(p.path, "/", "-"), "-") + "page")
	}
	b.look("/", "Pause bulk")
	b.until("(() => { for (const e of document.querySelectorAll('form.do button')) if (e.textContent == 'Pause bulk') { e.click(); return true } })()")
	b.until("document.body.innerText.includes('Pause bulk?')")
	b.inspect("confirm")
	b.click("button.danger")
	b.until("location.pathname == '/' && document.querySelector('.said').innerText == 'bulk is paused by ana (dashboard)'")
	b.clean("said")
	b.operate()
	b.byKeyboard()
	b.ownLook()
}
