package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"nightshift/jobs"
)

// findChromium gives the browser's program. In CI it must be there.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("Chromium is not installed: the pages must be opened in a real browser in CI")
	}
	t.Skip("Chromium is not installed: the pages are not opened in a browser")
	return ""
}

// tab is a page of a headless browser that notes what must not happen.
type tab struct {
	t    *testing.T
	ctx  context.Context
	site *httptest.Server
	page atomic.Value // of *Dashboard

	mu     sync.Mutex
	faults []string // since the last look: requests to elsewhere, errors on the console
}

// chromium is one browser for all tests of the package, ended by TestMain. Each test
// has a tab with cookies and storage of its own.
var chromium struct {
	once sync.Once
	ctx  context.Context
	stop []context.CancelFunc
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range slices.Backward(chromium.stop) {
		stop()
	}
	if chromium.dir != "" {
		_ = os.RemoveAll(chromium.dir)
	}
	os.Exit(code)
}

func startChromium(path string) {
	c := &chromium
	if c.dir, c.err = os.MkdirTemp("", "dashboard-chromium-"); c.err != nil {
		return
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(c.dir), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewContext(alloc)
	c.ctx, c.stop = ctx, append(c.stop, stop, cancel)
	c.err = chromedp.Do(ctx) // starts it
}

func newTab(t *testing.T, d *Dashboard) *tab {
	t.Helper()
	path := findChromium(t)
	chromium.once.Do(func() { startChromium(path) })
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	b := &tab{t: t}
	b.page.Store(d)
	b.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.page.Load().(*Dashboard).ServeHTTP(w, r) }))
	t.Cleanup(b.site.Close)
	t.Cleanup(func() { b.page.Load().(*Dashboard).Close() })
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancelTime)
	b.ctx = ctx
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) hear(ev any) {
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "about" && u.Scheme != "data" && u.Scheme != "blob" && u.Host != strings.TrimPrefix(b.site.URL, "http://") {
			b.fault("asks elsewhere: " + e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.fault("exception: " + e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			b.fault("console: " + consoleWords(e.Args))
		}
	case *log.EventEntryAdded:
		// asynqmon's own charts, where a phone gives them no room.
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "<rect> attribute width: A negative value") && !strings.Contains(e.Entry.Text, "<rect> attribute height: A negative value") {
			b.fault("console: " + e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

// consoleWords are what a script wrote to the console.
func consoleWords(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		words = append(words, cmp.Or(a.Description, string(a.Value)))
	}
	return strings.Join(words, " ")
}

// hearsTheConsole: a look at a page that says nothing is only worth something if what
// a page says is heard.
func (b *tab) hearsTheConsole() {
	b.t.Helper()
	b.read(`console.log("fine"), console.error("planted", 7), ""`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) != 1 || !strings.Contains(b.faults[0], "planted") {
		b.t.Errorf("of an error on the console was heard %q", b.faults)
	}
	b.faults = nil
}

func (b *tab) fault(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, s)
}

func (b *tab) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
}

// clean reports what went wrong since the last call.
func (b *tab) clean(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Errorf("%s: %s", where, f)
	}
	b.faults = nil
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// look opens a page and waits until it says something.
func (b *tab) look(path, says string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.site.URL + path))
	// In the banner stand words that asynqmon's part has to show by itself.
	b.until(fmt.Sprintf("(document.getElementById('root') || document.body).innerText.includes(%q)", says))
}

// click clicks on the first element that a selector finds, once it is there: within the
// page, since a page that is live may put another in its place meanwhile.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("(() => { const e = document.querySelector(%s); if (e) { e.click(); return true } })()", strconv.Quote(selector)))
}

// typeInto writes into a field, once it is there, whatever has become of it meanwhile.
func (b *tab) typeInto(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("(() => { const e = document.querySelector(%s); if (e) { e.focus(); return document.activeElement === e } })()", strconv.Quote(selector)))
	b.do(chromedp.KeyEvent(text))
}

// until asks the page again and again, also across a navigation.
func (b *tab) until(js string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+js+")"))
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
			b.t.Fatalf("%s: %v; the page is %.1500s", js, err, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *tab) read(js string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](js))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// screen is how large and how bright the browser's window is.
func (b *tab) screen(width, height int64, theme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// picture is kept where DASHBOARD_PICTURES says.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("DASHBOARD_PICTURES")
	if dir == "" {
		return
	}
	// Charts draw their lines within a second and a half.
	b.until("![...document.querySelectorAll('.recharts-line-curve')].some(p => !/ 0px$/.test(p.getAttribute('stroke-dasharray') || ' 0px'))")
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "dashboard-"+name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// busyFleet is a dashboard over tasks in all states.
func busyFleet(t *testing.T, cfg Config) (*backlog, Config) {
	t.Helper()
	b := newBacklog(t, realRedis(t), 300)
	b.enqueue(t, "urgent-mails", "high", 40)
	b.wait(t, 60)
	for range 12 {
		b.take(t)
	}
	for i := range 25 {
		b.put(t, b.take(t), "archived", time.Now().Add(-time.Duration(i)*time.Minute))
		b.put(t, b.take(t), "scheduled", time.Now().Add(time.Duration(i)*time.Minute))
	}
	cfg.Redis, cfg.Store = b.rdb, b.store
	cfg.Overview = func(context.Context, NowQuery) (Overview, error) { return busy(time.Now()), nil }
	cfg.Pauses = func(context.Context) ([]PauseView, error) { return busy(time.Now()).Pauses, nil }
	return b, cfg
}

// TestInABrowser does what people do with the pages, in one browser.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	p := &fakePauser{}
	fleet, cfg := busyFleet(t, Config{Write: true, Pauser: p})
	d := newDashboard(t, cfg)
	fillGraphs(d)
	b := newTab(t, d)
	openPages(b, fleet.run.ID)
	b.hearsTheConsole()
	openElsewhere(b)
	pressPause(b, p)
	seeRefresh(b, cfg)
	logIn(b, cfg)
}

// shownPage is a page and what it has to say.
type shownPage struct{ name, path, says string }

var shownPages = []shownPage{
	{"home", "/", "nightly-summaries"},
	{"queues", "/queues/", testQueue},
	{"retry", "/queues/queues/" + testQueue + "?status=retry", waitText},
	{"metrics", "/queues/q/metrics", "Queue Size"},
	{"active", "/queues/queues/" + testQueue + "?status=active", "row_index"},
	{"pending", "/queues/queues/" + testQueue + "?status=pending", "row_index"},
	{"scheduled", "/queues/queues/" + testQueue + "?status=scheduled", "row_index"},
	{"archived", "/queues/queues/" + testQueue + "?status=archived", "row_index"},
	{"completed", "/queues/queues/" + testQueue + "?status=completed", "No completed tasks"},
	{"servers", "/queues/servers", "Servers"},
	{"schedulers", "/queues/schedulers", "Scheduler"},
	{"redis", "/queues/redis", "redis_version"},
	{"settings", "/queues/settings", "Settings"},
}

// openPages: each page must show what it is for, ask nothing of other sites,
// and leave the console without an error.
func openPages(b *tab, run string) {
	b.screen(1440, 900, "light")
	task := shownPage{"task", "/queues/queues/" + testQueue + "/tasks/" + jobs.Task{Run: run}.ID(), "ticket-00000"}
	for _, p := range append(slices.Clone(shownPages), task) {
		b.look(p.path, p.says)
		if p.path != "/" {
			b.until("document.getElementById('nightshift').innerText.includes('Paused: bulk (health by scheduler night-2')")
			b.until("document.getElementById('nightshift').innerText.includes('is no failure')")
		}
		b.picture(p.name)
		b.clean(p.name)
	}
}

// openElsewhere: each page in the dark, and on a phone.
func openElsewhere(b *tab) {
	b.forgetThemes()
	b.screen(1440, 900, "dark")
	for _, p := range shownPages {
		b.look(p.path, p.says)
		b.until(shadeOfPage + " == 'dark'")
		b.picture(p.name + "-dark")
		b.clean(p.name + " in the dark")
	}
	b.forgetThemes()
	b.screen(390, 844, "light")
	for _, p := range shownPages {
		b.look(p.path, p.says)
		b.picture(p.name + "-phone")
		if wide := b.read("String(document.documentElement.scrollWidth)"); wide != "390" {
			b.t.Errorf("%s is %s pixels wide on a phone of 390", p.name, wide)
		}
		b.clean(p.name + " on a phone")
	}
	b.screen(1440, 900, "light")
}

// forgetThemes has asynqmon go by the screen again, and not by what it was before.
func (b *tab) forgetThemes() {
	b.t.Helper()
	b.look("/healthz", "ok")
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void]("localStorage.clear()")); err != nil {
		b.t.Fatal(err)
	}
}

// shadeOfPage tells by the colour behind what stands at the foot of the window.
const shadeOfPage = `(() => {
	for (let e = document.elementFromPoint(innerWidth / 2, innerHeight - 40); e; e = e.parentElement) {
		const c = (getComputedStyle(e).backgroundColor.match(/[\d.]+/g) || []).map(Number);
		if (c.length == 3 || c[3] > 0.5) return c[0] + c[1] + c[2] < 3 * 128 ? "dark" : "light";
	}
	return "light";
})()`

// pressPause uses asynqmon's own button; when it is refused, the page says so.
func pressPause(b *tab, p *fakePauser) {
	press := func() {
		b.look("/queues/", testQueue)
		b.until(`(() => {
			for (const td of document.querySelectorAll('#root td')) td.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
			const button = document.querySelector('#root button[title=Pause]');
			if (button) button.click();
			return !!button;
		})()`)
	}
	press()
	b.until("performance.getEntriesByType('resource').some(e => e.name.endsWith(':pause'))")
	if got := p.asked(); len(got) == 0 || !strings.HasPrefix(got[0], "pause bulk-") {
		b.t.Errorf("the pauser was asked %v", got)
	}
	b.clean("pause")
	p.fail(hinted{errors.New("another scheduler leads")})
	press()
	b.until("document.querySelector('#nightshift.failed').innerText.includes('another scheduler leads. Type: nightshift resume')")
	b.picture("refused")
	b.forget() // the browser notes the refusal itself
}

// seeRefresh: the figures change in place.
func seeRefresh(b *tab, cfg Config) {
	later := cfg
	later.Overview = func(context.Context, NowQuery) (Overview, error) {
		o := busy(time.Now())
		o.Health = HealthView{Phase: "ramp", Text: "p95 0.9 s"}
		return o, nil
	}
	b.look("/", "bulk is paused")
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("window.sameDocument = true")); err != nil {
		b.t.Fatal(err)
	}
	b.page.Store(newDashboard(b.t, later))
	b.until("document.dispatchEvent(new Event('visibilitychange')) && document.body.innerText.includes('recovered: bulk comes back') && window.sameDocument")
	b.clean("refresh")
}

// logIn: with a token the form leads to the page that was asked for.
func logIn(b *tab, cfg Config) {
	cfg.Token = testToken
	b.do(chromedp.Navigate("about:blank"))
	b.page.Store(newDashboard(b.t, cfg))
	b.look("/queues/redis", "Token")
	b.picture("login")
	b.typeInto("#token", testToken+"\r")
	b.until("location.pathname == '/queues/redis' && document.body.innerText.includes('redis_version')")
	b.until("document.getElementById('nightshift').innerText.includes('is no failure')")
	b.look("/", "Log out")
	b.clean("login")
}

// fillGraphs gives the metrics page an hour that looks like a night's work.
func fillGraphs(d *Dashboard) {
	now := time.Now().UnixMilli()
	for i := int64(360); i >= 0; i-- {
		done := (360 - i) * 40
		d.samples.add(testQueue, sample{at: now - i*10_000, size: 20_000 - done, pending: 300 + i%17, retry: 19_000 - done, latency: float64(i%9) / 4, memory: (20_000 - done) * 900, processed: done, failed: done / 50})
		d.samples.add("bulk-high.shop.gemini-2.5-flash", sample{at: now - i*10_000, size: 40 + i%30, pending: i % 30, retry: 10, latency: 0.2, memory: 50_000, processed: done / 4})
	}
}
