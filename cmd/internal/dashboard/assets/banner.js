// The banner on asynqmon's pages: what waiting looks like here, which pauses
// hold, and what a button that was refused would have done.
"use strict";
(function () {
  const box = document.getElementById("nightshift");
  const every = 8000; // as often as asynqmon itself asks
  let refused = "", refusedUntil = 0;

  // On a phone asynqmon's drawer would cover half of the page at first.
  try {
    if (window.innerWidth < 900 && !localStorage.getItem("asynqmon:state")) {
      localStorage.setItem("asynqmon:state", JSON.stringify({ settings: { isDrawerOpen: false } }));
    }
  } catch (e) { /* without storage the drawer stays open */ }

  function add(parent, tag, text, name) {
    const e = document.createElement(tag);
    if (text) e.textContent = text;
    if (name) e.className = name;
    parent.appendChild(e);
    return e;
  }

  function time(s) {
    const t = new Date(s), far = Math.abs(t - Date.now()) > 20 * 3600e3;
    return (far ? t.toLocaleDateString() + " " : "") + t.toTimeString().slice(0, 5);
  }

  function pause(p) {
    return p.target + " (" + p.reason + (p.owner ? " by " + p.owner : "") + (p.detail ? ": " + p.detail : "") +
      (p.since ? ", since " + time(p.since) : "") + (p.until ? ", until " + time(p.until) : ", until resumed") + ")";
  }

  function show(state) {
    box.textContent = "";
    box.className = "";
    const words = add(box, "div", "", "words");
    if (refused && Date.now() < refusedUntil) {
      box.className = "failed";
      add(words, "p", refused).setAttribute("role", "alert");
      const close = add(box, "button", "OK");
      close.type = "button";
      close.onclick = function () { refused = ""; show(state); };
    } else if (state.error) {
      box.className = "failed";
      add(words, "p", state.error);
    } else {
      if (state.pauses.length) {
        box.className = "paused";
        add(words, "p", "Paused: " + state.pauses.map(pause).join(" · "));
      }
      state.notes.forEach(function (n) { box.className = "odd"; add(words, "p", n); });
      add(words, "p", "Retry = waiting for quota or for another attempt. A “last error” like “waiting for quota until 02:14:07 (not a failure)” is no failure." +
        (state.pauses.length ? "" : " Nothing is paused."));
    }
    words.tabIndex = words.scrollHeight > words.clientHeight ? 0 : -1;
    add(box, "span", box.dataset.mode, "mode");
    add(box, "a", "nightshift").href = "/";
  }

  let last = { pauses: [], notes: [] };
  async function refresh() {
    if (document.hidden) return;
    try {
      const answer = await fetch("/api/pauses", { headers: { Accept: "application/json" } });
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) throw new Error(answer.status);
      last = await answer.json();
    } catch (e) {
      last = { pauses: [], notes: [], error: "The dashboard does not answer; these figures may be old." };
    }
    show(last);
  }

  // asynqmon shows nothing when a button's call is refused: say it here.
  const send = XMLHttpRequest.prototype.send, open = XMLHttpRequest.prototype.open;
  XMLHttpRequest.prototype.open = function (method) {
    this.nightshiftMethod = String(method).toUpperCase();
    return open.apply(this, arguments);
  };
  XMLHttpRequest.prototype.send = function () {
    if (this.nightshiftMethod !== "GET") {
      this.addEventListener("loadend", function () {
        if (this.status >= 400) {
          refused = this.responseText.trim();
          refusedUntil = Date.now() + 30000;
          show(last);
        } else {
          refresh();
        }
      });
    }
    return send.apply(this, arguments);
  };

  show(last);
  refresh();
  setInterval(refresh, every);
})();
