package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// operatorActions do nothing, and say what they would.
func operatorActions() []Action {
	made := func(name, title, question string) Action {
		return Action{Name: name, Title: title, Preview: func(_ context.Context, _ Viewer, form url.Values) (string, error) {
			if form.Get("value") == "less" {
				return "", fmt.Errorf("--%s: %q: want dollars above zero", form.Get("name"), form.Get("value"))
			}
			return fmt.Sprintf(question, form.Get("value")+form.Get("only")), nil
		}, Do: func(_ context.Context, _ Viewer, form url.Values) (Outcome, error) {
			return Outcome{Said: title + " is done: " + form.Get("value") + form.Get("only")}, nil
		}}
	}
	return []Action{pauseNothing(), made("set", "Change", "max-cost: $40.00 → %s?"), made("retry", "Retry", "Ask the rows of %s again?"), made("quota-set", "Set", "usd_per_month: $900 → %s?"),
		made("stop", "Stop", "Stop tenant/acme%s?"), made("lift", "Lift the stop", "Lift%s?")}
}

// press clicks the button with these words, wherever it stands.
func (b *tab) press(words string) {
	b.t.Helper()
	b.until(fmt.Sprintf("(() => { for (const e of document.querySelectorAll('main button')) if (e.textContent.trim() == %q || e.ariaLabel == %q) { e.click(); return true } })()", words, words))
}

// confirm answers the question, and waits for what came of it.
func (b *tab) confirm(question, said string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", question))
	b.click("button.danger")
	b.until(fmt.Sprintf("document.querySelector('.said') && document.querySelector('.said').innerText.includes(%q)", said))
}

// typesMeanwhile begins to type while a refresh is under way: what is typed stays.
func (b *tab) typesMeanwhile(field string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
		window.asked = false;
		document.addEventListener("htmx:afterRequest", () => { window.asked = true; }, { once: true });
		htmx.trigger(document.getElementById("live"), "changed");
		document.querySelector(%[1]q).focus();
		document.querySelector(%[1]q).value = "l";
		return true;
	})()`, field))
	b.until(`window.asked || htmx.trigger(document.getElementById("live"), "changed") && false`) // once htmx has the page
	b.until(fmt.Sprintf(`document.querySelector(%q).value == "l"`, field))
	b.until(fmt.Sprintf(`(document.querySelector(%q).value = "") == ""`, field))
}

// operate does what an operator does in the morning: finds who had the quota, pauses
// it, raises caps, and has failed rows made again.
func (b *tab) operate() {
	b.t.Helper()
	b.screen(1440, 900, "light")
	b.look("/", "may act")
	b.click(`nav a[href="/who"]`)
	b.until("document.body.innerText.includes('tags (bulk) had 71.0 % of the requests')")
	b.press("Pause bulk for 30 min")
	b.confirm("Pause bulk?", "bulk is paused by ana")
	b.click(`nav a[href="/runs"]`)
	b.until("location.pathname == '/runs'")
	b.click(`main a[href^="/runs/"]`)
	b.until("document.querySelector('.chart canvas') && document.querySelector('#set-max-cost')")
	b.typesMeanwhile("#set-max-cost")
	b.typeInto("#set-max-cost", "less")
	b.press("Set max-cost")
	b.until("document.querySelector('.said.bad') && document.querySelector('.said').innerText.includes('want dollars above zero')")
	b.typeInto("#set-max-cost", "60")
	b.press("Set max-cost")
	b.confirm("max-cost: $40.00 → 60?", "Change is done: 60")
	b.press("Retry 2")
	b.confirm("Ask the rows of safety again?", "Retry is done: safety")
	b.click(`nav a[href="/steer"]`)
	b.until("document.querySelector('#capvalue')")
	b.typeInto("#capvalue", "1200\r")
	b.confirm("usd_per_month: $900 → 1200?", "Set is done: 1200")
	b.look("/history?from=6h", "Use by feature")
	b.until("document.querySelectorAll('.chart canvas').length == 3")
	b.click(`.presets a[href*="from=48h"]`)
	b.until("location.search.includes('from=48h') && document.querySelectorAll('.chart canvas').length == 3")
	if got := b.read("String(window.ran)"); got != "undefined" {
		b.t.Error("a script in a name ran")
	}
	if got := b.read("[...document.querySelectorAll('.u-legend img, .u-legend script')].length + ''"); got != "0" {
		b.t.Error("a legend has markup of a name in it")
	}
	b.clean("operator")
}

// pathOf is an address of a page: of one that shows one of many, the test's.
func (p page) pathOf() string {
	return strings.NewReplacer("{run}", "nightly-summaries", "{tenant}", "acme").Replace(p.path)
}
