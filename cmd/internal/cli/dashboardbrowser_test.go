package cli

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nightshift/jobs"
	"nightshift/limiter"
)

// tab is a page of a headless browser before a dashboard of the real sources and actions.
type tab struct {
	*testing.T
	page context.Context
	site string
}

func openTab(t *testing.T, site string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is not installed: an operator's tasks must be tried in a real browser in CI")
		}
		t.Skip("Chromium is not installed")
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true))
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancelTime)
	return &tab{t, ctx, site}
}

func (b *tab) do(step chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.page, step); err != nil {
		b.Fatal(err)
	}
}

// until asks the page again and again, also across a navigation.
func (b *tab) until(js string) {
	b.Helper()
	for {
		if ok, _ := chromedp.Run(b.page, chromedp.Evaluate[bool]("!!("+js+")")); ok {
			return
		}
		select {
		case <-b.page.Done():
			b.Fatalf("never came true: %s", js)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// presses clicks the button of these words, and waits for what the page says then.
func (b *tab) presses(words, says string) {
	b.Helper()
	b.until(fmt.Sprintf("(() => { for (const e of document.querySelectorAll('main button')) if (e.textContent.trim() == %q) { e.click(); return true } })()", words))
	b.says(says)
}

func (b *tab) says(text string) {
	b.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// writes puts a value into a field and presses return.
func (b *tab) writes(selector, text string) {
	b.Helper()
	b.until(fmt.Sprintf("(() => { const e = document.querySelector(%q); if (e) { e.focus(); return document.activeElement === e } })()", selector))
	b.do(chromedp.KeyEvent(text))
}

// confirms says yes to the question that the page asks.
func (b *tab) confirms(question, said string) {
	b.Helper()
	b.says(question)
	b.until("(() => { const e = document.querySelector('button.danger'); if (e) { e.click(); return true } })()")
	b.until(fmt.Sprintf("document.querySelector('.said') && document.querySelector('.said').innerText.includes(%q)", said))
}

// TestAnOperatorInABrowser pauses bulk, asks failed rows again, and raises a cap, by the
// pages in a real browser; each is looked for in the fleet's own state.
func TestAnOperatorInABrowser(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	s.end(0, jobs.Done, "")
	s.end(1, jobs.Failed, "schema")
	s.end(2, jobs.Failed, "schema")
	t.Cleanup(d.Close)
	site := httptest.NewServer(d)
	t.Cleanup(site.Close)
	b := openTab(t, site.URL)
	b.do(chromedp.Navigate(site.URL + "/"))
	b.writes("#name", "ana")
	b.writes("#token", operates+"\r")
	b.presses("Pause bulk", "Pause")
	b.confirms("Pause", "paused")
	pauses, err := s.be.lim.Pauses(t.Context())
	if s.check(err); !slices.ContainsFunc(pauses, func(p limiter.Pause) bool { return p.Class == "bulk" && p.Reason == "operator" }) {
		t.Errorf("bulk is not paused: %+v", pauses)
	}
	b.do(chromedp.Navigate(site.URL + "/runs/night"))
	b.presses("Retry 2", "Ask 2 rows of night again?")
	b.confirms("Ask 2 rows", "night: 2 rows enqueued again")
	st, err := s.be.store.Load(t.Context(), s.run.ID)
	s.check(err)
	counts, err := s.be.store.Counts(t.Context(), st.ID)
	if s.check(err); counts[jobs.Failed] != 0 || counts[jobs.Queued] != 9 {
		t.Errorf("after the retry: %v", counts)
	}
	b.do(chromedp.Navigate(site.URL + "/steer"))
	b.until("document.querySelector('#capname').value == 'usd_per_month'")
	b.writes("#capvalue", "50\r")
	b.confirms("usd_per_month of project/default", "usd_per_month of project/default")
	c, err := s.be.lim.Effective(t.Context())
	if s.check(err); c.Nodes["project/default"].USDPerMonth != 50_000_000 {
		t.Errorf("the cap is %+v", c.Nodes)
	}
}
