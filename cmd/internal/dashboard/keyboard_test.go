package dashboard

import (
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// mostTabs is more than any page has to stop at before its first button.
const mostTabs = 200

// tabTo presses the tabulator until what has the focus is what is wanted; what has it
// must be seen to have it.
func (b *tab) tabTo(what, js string) {
	b.t.Helper()
	for range mostTabs {
		b.do(chromedp.KeyEvent(kb.Tab))
		switch b.read(fmt.Sprintf(`(e => !(%s) ? "" : e.matches(":focus-visible") && getComputedStyle(e).outlineStyle != "none" ? "there" : "unseen")(document.activeElement)`, js)) {
		case "there":
			return
		case "unseen":
			b.t.Fatalf("%s has the focus, and nobody sees it", what)
		}
	}
	b.t.Fatalf("%d times the tabulator, and never at %s", mostTabs, what)
}

// byKeyboard pauses bulk with the tabulator and the return key, across a refresh of
// the page, which must leave the focus where it is.
func (b *tab) byKeyboard() {
	b.t.Helper()
	b.look("/", "Pause bulk")
	b.tabTo("the button", `e.textContent.trim() == "Pause bulk"`)
	b.refreshOnce()
	b.until(`document.activeElement.textContent.trim() == "Pause bulk"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.body.innerText.includes('Pause bulk?')")
	b.tabTo("the answer", `e.matches("button.danger")`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("location.pathname == '/' && document.querySelector('.said').innerText == 'bulk is paused by ana (dashboard)'")
	b.clean("by keyboard")
}

// refreshOnce has the page put its content in place of itself.
func (b *tab) refreshOnce() {
	b.t.Helper()
	b.until(`(() => {
		window.settled = false;
		document.addEventListener("htmx:afterSettle", () => { window.settled = true; }, { once: true });
		htmx.trigger(document.getElementById("live"), "changed");
		return true;
	})()`)
	b.until("window.settled")
}
