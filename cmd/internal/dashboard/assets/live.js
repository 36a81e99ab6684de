// Refreshes what the page shows when the dashboard says that it has changed: one
// line of server-sent events while the page is seen, and htmx fetches its content
// anew. Without scripts a page is as true as its last reload.
"use strict";
(function () {
  let line = null, missed = false;

  function main() { return document.getElementById("live"); }
  function say(text) { document.getElementById("state").textContent = text; }

  // Nothing is taken away from somebody who types, chooses or marks it.
  function busy() {
    const chosen = document.getSelection(), at = document.activeElement;
    return document.hidden || (chosen && !chosen.isCollapsed) || [...main().querySelectorAll("form.do input, form.do textarea")].some(function (e) { return e.value !== e.defaultValue; }) ||
      (main().contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName));
  }

  function refresh() {
    if (!main().dataset.live) return;
    if (busy()) { missed = true; return; }
    missed = false;
    htmx.trigger(main(), "changed");
  }

  function listen() {
    const wanted = !document.hidden && main().dataset.live;
    if (!wanted && line) { line.close(); line = null; }
    if (!wanted || line) return;
    line = new EventSource("/live");
    line.addEventListener("changed", function () { say(""); refresh(); });
    line.onopen = function () { say(""); };
    line.onerror = function () {
      say("not refreshed: the dashboard does not answer");
      if (line.readyState === EventSource.CLOSED) { // for good, as after a login's end
        line = null;
        setTimeout(listen, 10000);
      }
    };
  }

  // What has the focus, and what is open, stays so across a refresh.
  // A button is known by its words and what its form would send.
  let focused = null, open = [];
  function sends(e) { return e.textContent + (e.form ? "?" + new URLSearchParams(new FormData(e.form)) : ""); }
  function mark(e) {
    if (e.id) return function () { return document.getElementById(e.id); };
    const href = e.getAttribute("href"), words = e.tagName === "BUTTON" && sends(e);
    if (href) return function () { return main().querySelector("a[href=\"" + CSS.escape(href) + "\"]"); };
    return words && function () { return [...main().querySelectorAll("button")].find(function (b) { return sends(b) === words; }); };
  }
  document.addEventListener("htmx:beforeSwap", function (e) {
    const by = e.detail.requestConfig.triggeringEvent;
    if (by && by.type === "changed" && busy()) { // who began to type after it was asked for
      e.detail.shouldSwap = false;
      missed = true;
      return;
    }
    if (e.detail.xhr.status === 400) { e.detail.shouldSwap = true; e.detail.isError = false; } // the page says what is wrong with what was asked
    const at = document.activeElement;
    focused = main().contains(at) ? mark(at) : null;
    open = [...main().querySelectorAll("details[open][id]")].map(function (d) { return d.id; });
  });
  document.addEventListener("htmx:afterSwap", function () {
    open.forEach(function (id) { const d = document.getElementById(id); if (d) d.open = true; });
    const e = focused && focused();
    if (e && document.activeElement !== e) e.focus({ preventScroll: true });
    listen();
  });
  document.addEventListener("htmx:responseError", function (e) {
    if (e.detail.xhr.status === 401) { location.reload(); return; }
    say("not refreshed: the dashboard answered " + e.detail.xhr.status);
  });
  document.addEventListener("htmx:sendError", function () { say("not refreshed: the dashboard does not answer"); });
  document.addEventListener("visibilitychange", function () { listen(); if (!document.hidden) refresh(); });
  document.addEventListener("focusout", function () { setTimeout(function () { if (missed) refresh(); }, 200); });
  window.addEventListener("pagehide", function () { if (line) { line.close(); line = null; } });
  window.addEventListener("pageshow", function () { listen(); });
})();
