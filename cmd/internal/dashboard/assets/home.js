// Refreshes the figures in place every five seconds while the page is seen.
// Without this script the page reloads itself (a meta refresh in <noscript>).
"use strict";
(function () {
  const every = 5000;
  let failed = 0;

  function busy() {
    const chosen = document.getSelection();
    const live = document.getElementById("live");
    return document.hidden || (chosen && !chosen.isCollapsed) ||
      (document.activeElement !== document.body && live.contains(document.activeElement));
  }

  async function refresh() {
    if (busy()) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
      if (answer.type === "opaqueredirect") { location.reload(); return; }
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      if (!fresh || busy()) return;
      document.getElementById("live").replaceWith(document.adoptNode(fresh));
      failed = 0;
    } catch (e) {
      failed++;
      document.getElementById("state").textContent = "not refreshed: the dashboard does not answer (" + failed + ")";
    }
  }

  setInterval(refresh, every);
  document.addEventListener("visibilitychange", function () { if (!document.hidden) refresh(); });
})();
