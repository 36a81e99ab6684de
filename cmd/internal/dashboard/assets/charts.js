// Draws what stands in data-chart with uPlot. Without scripts the tables under each
// chart have the same figures.
"use strict";
(function () {
  const drawn = new Set(), dark = matchMedia("(prefers-color-scheme: dark)");

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

  function two(n) { return (n < 10 ? "0" : "") + n; }

  // written shows a figure as the page does.
  function written(measure, v) {
    if (v === null || v === undefined) return "–";
    const size = Math.abs(v);
    if (measure === "usd") return "$" + (size && size < 0.01 ? v.toFixed(4) : v.toFixed(2));
    if (measure === "percent") return size >= 1e4 ? (v / 1e3).toFixed(0) + " k %" : v.toFixed(size < 10 ? 1 : 0) + " %";
    if (measure === "seconds") return size < 1 ? (v * 1e3).toFixed(0) + " ms" : size < 60 ? v.toFixed(size < 10 ? 1 : 0) + " s" : size < 3600 ? (v / 60).toFixed(1) + " min" : size < 172800 ? (v / 3600).toFixed(1) + " h" : (v / 86400).toFixed(1) + " days";
    if (size >= 1e9) return (v / 1e9).toFixed(1) + " G";
    if (size >= 1e6) return (v / 1e6).toFixed(1) + " M";
    if (size >= 1e4) return (v / 1e3).toFixed(0) + " k";
    return size < 10 && v % 1 ? v.toFixed(1) : Math.round(v).toLocaleString("en-US");
  }

  // clock is a time by the server's clock, as the rest of the page has it.
  function clock(t, offset) {
    return new Date((t + offset + new Date(t * 1000).getTimezoneOffset() * 60) * 1000);
  }

  function moment(d) {
    const day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][d.getDay()];
    return day + " " + two(d.getHours()) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds());
  }

  // layers puts the parts of a whole on each other, the last on top.
  function layers(lines) {
    let sum = null;
    return lines.map(function (l) {
      if (l.whole) return l.values;
      sum = l.values.map(function (v, i) { return v === null ? null : v + (sum && sum[i] || 0); });
      return sum;
    });
  }

  function draw(box) {
    const c = JSON.parse(box.dataset.chart), n = Math.max(0, ...c.lines.map(function (l) { return l.values.length; }));
    if (!n) return;
    const x = Array.from({ length: n }, function (_, i) { return c.from + i * c.step; });
    const tops = c.stack ? layers(c.lines) : c.lines.map(function (l) { return l.values; });
    // Drawn from the top of the stack to its foot, so that each covers what is below it.
    let order = c.lines.map(function (_, i) { return i; });
    if (c.stack) order = order.filter(function (i) { return !c.lines[i].whole; }).reverse().concat(order.filter(function (i) { return c.lines[i].whole; }));
    const few = n < 3, series = [{ value: function (u, v) { return v === null || v === undefined ? "–" : moment(clock(v, c.offset)); } }];
    order.forEach(function (i) {
      const l = c.lines[i], ink = colour(l.whole ? "sw" : "s" + (i % 10));
      series.push({
        label: l.name || "(none)", stroke: ink, width: l.whole ? 1.5 : c.stack ? 1 : 2, dash: l.whole ? [6, 4] : undefined,
        fill: c.stack && !l.whole ? ink : undefined, points: { show: few }, spanGaps: false,
        value: function (u, v, s, at) { return at === null || at === undefined ? "–" : written(c.measure, l.values[at]); },
      });
    });
    const ink = colour("dim"), grid = { stroke: colour("line"), width: 1 };
    const plot = new uPlot({
      width: box.clientWidth || 300, height: 230, series: series, cursor: { y: false }, tzDate: function (t) { return clock(t, c.offset); },
      scales: { y: { range: function (u, least, most) { return [Math.min(0, least || 0), (most || 0) > 0 ? most * 1.05 : 1]; } } },
      axes: [
        { stroke: ink, grid: grid, ticks: grid, values: [[86400, "{WWW} {D} {MMM}", null, null, null, null, null, null, 1], [3600, "{HH}:{mm}", "\n{WWW} {D}", null, "\n{WWW} {D}", null, null, null, 1], [60, "{HH}:{mm}", "\n{WWW} {D}", null, "\n{WWW} {D}", null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
        { stroke: ink, grid: grid, ticks: grid, size: 78, values: function (u, vs) { return vs.map(function (v) { return written(c.measure, v); }); } },
      ],
    }, [x].concat(order.map(function (i) { return tops[i]; })), box);
    const watch = new ResizeObserver(function () { if (box.clientWidth) plot.setSize({ width: box.clientWidth, height: 230 }); });
    watch.observe(box);
    drawn.add({ box: box, plot: plot, watch: watch });
  }

  function drop(d) { d.watch.disconnect(); d.plot.destroy(); drawn.delete(d); }

  function drawAll() {
    drawn.forEach(function (d) { if (!d.box.isConnected) drop(d); });
    document.querySelectorAll("[data-chart]:empty").forEach(draw);
  }

  dark.addEventListener("change", function () { drawn.forEach(drop); drawAll(); });
  document.addEventListener("htmx:afterSwap", drawAll);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", drawAll);
  else drawAll();
})();
