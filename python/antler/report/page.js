/* page.js - what all figures of a report share: the numbers, colours and axes, panels and maps. */
"use strict";
const report = { ready: false, figures: {}, run: 0, paper: false }; // for whoever looks at the page from outside
window.antlerReport = report;
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const GROUPS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C"];
const DARK_GROUPS = ["#56B4E9", "#FF8C42", "#4FD1A5", "#E6A3C8", "#F2C14E", "#9ecbff", "#B8B8B8"];
const isDark = () => document.documentElement.dataset.theme === "dark";
const group = (i) => (isDark() ? DARK_GROUPS : GROUPS)[i % GROUPS.length];
const pageWidth = () => document.querySelector("main").clientWidth;
const narrow = () => pageWidth() < 620;
let data = null;

const current = () => data.runs[report.run];
const truthOf = (run) => (run.truth === null ? null : data.truths[run.truth]);
const orbitOf = (run) => (run.orbit ? run.orbit : { solid: [], short: [], whole: [] });

/* ---- unpacking ---- */

async function unpack(id) {
  const packed = atob(byId(id).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/* ---- the look ---- */

function axis(more) {
  return Object.assign({ gridcolor: css("--grid"), zerolinecolor: css("--grid"), linecolor: css("--line"),
    tickcolor: css("--line"), automargin: true, ticks: "outside", ticklen: 3, exponentformat: "power" }, more);
}

function layout(height, more) {
  return Object.assign({
    height, margin: { l: 58, r: 14, t: 26, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--text"), size: 12, family: getComputedStyle(document.body).fontFamily },
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    hovermode: "closest", hoverlabel: { bgcolor: css("--card"), font: { color: css("--text") } }, dragmode: "zoom",
  }, more);
}

/* Draw; a figure without anything to draw is left out with its heading, and `notShown` says why. */
function plot(id, traces, shape) {
  const place = byId(id);
  if (!place) return Promise.resolve();
  place.closest("section").hidden = traces.length === 0;
  delete report.figures[id];
  if (traces.length === 0) return Promise.resolve();
  report.figures[id] = place;
  shape.width = report.paper ? pageWidth() : undefined; // paper cannot wait until a figure follows its place
  return Plotly.react(place, traces, shape, { responsive: true, displayModeBar: false });
}

/* A logarithmic axis with whole powers only, where the values span enough of them. */
function logAxis(columns, more) {
  let low = Infinity, high = -Infinity;
  for (const values of columns) for (const v of values || []) if (v > 0) { if (v < low) low = v; if (v > high) high = v; }
  const decades = Math.log10(high / low);
  const ticks = decades > 1.3 && isFinite(decades) ? { dtick: Math.max(1, Math.round(decades / 5)) } : { nticks: 5 };
  return axis(Object.assign({ type: "log" }, ticks, more));
}

/* `panel` names the part of a figure to which a trace belongs, in its table of numbers. */
const line = (x, y, name, color, width, more) =>
  Object.assign({ x, y, name, mode: "lines", type: "scatter", line: { color, width }, hoverinfo: "x+y+name" }, more);
const finite = (values) => values.filter((v) => v !== null);

/* The range of true values; generated ones may widen it by half, so that a diverged orbit does not squeeze it. */
function range(truth, generated) {
  let low = Infinity, high = -Infinity;
  for (const v of truth) if (v !== null) { if (v < low) low = v; if (v > high) high = v; }
  const reach = 0.5 * (high - low) || 1;
  let least = low, most = high;
  for (const v of generated) if (v !== null) { if (v < least) least = v; if (v > most) most = v; }
  least = Math.max(least, low - reach); most = Math.min(most, high + reach);
  const margin = 0.05 * (most - least);
  return [least - margin, most + margin];
}

/* ---- several parts in one figure ---- */

/* Cells of a grid of panels, filled row by row. */
function cells(count, across, gapX, gapY) {
  const rows = Math.ceil(count / across);
  return [...Array(count).keys()].map((n) => {
    const c = n % across, r = Math.floor(n / across), w = (1 - gapX * (across - 1)) / across, h = (1 - gapY * (rows - 1)) / rows;
    return { x: [c * (w + gapX), c * (w + gapX) + w], y: [1 - r * (h + gapY) - h, 1 - r * (h + gapY)], first: c === 0, last: n + across >= count };
  });
}

const heading = (text, cell) => ({ text, x: cell.x[0], xref: "paper", xanchor: "left", y: cell.y[1], yref: "paper",
  yanchor: "bottom", showarrow: false });

/* One panel for each title. fill(n, tag) gives the traces and both axes of panel n. */
function panels(id, titles, fill) {
  const count = titles.length, width = pageWidth();
  const across = Math.min(count, width < 520 ? 1 : width < 900 ? 2 : 3), rows = Math.ceil(count / across);
  const grid = cells(count, across, 0.09, rows > 1 ? Math.min(0.16, 0.5 / rows) : 0), traces = [];
  const shape = layout(70 + 200 * rows, { annotations: [], margin: { l: 58, r: 14, t: 44, b: 46 } });
  shape.legend.y = 1 + 20 / (200 * rows);
  grid.forEach((cell, n) => {
    const tag = n ? String(n + 1) : "", made = fill(n);
    made.traces.forEach((trace) => traces.push(Object.assign(trace, { xaxis: `x${tag}`, yaxis: `y${tag}`, showlegend: n === 0,
      legendgroup: trace.name, meta: made.panel })));
    shape[`xaxis${tag}`] = Object.assign(made.x, { domain: cell.x, anchor: `y${tag}`, title: cell.last ? { text: made.xTitle } : undefined });
    shape[`yaxis${tag}`] = Object.assign(made.y, { domain: cell.y, anchor: `x${tag}`, title: cell.first ? { text: made.yTitle, standoff: 8 } : undefined });
    shape.annotations.push(heading(titles[n], cell));
  });
  return plot(id, traces, shape);
}

/*
 * Heat maps side by side, one below the other where the page is narrow.
 * map: {title, z, x, y, low, high, colours, unit, xTitle, yTitle, square}; the first of each unit has the scale.
 */
function maps(id, list) {
  const across = narrow() ? 1 : list.length, rows = Math.ceil(list.length / across), square = list[0].square;
  const margin = { l: 58, r: 58, t: 30, b: 46 }, gapX = Math.max(0.1, 75 / (pageWidth() - margin.l - margin.r)), side = (pageWidth() - margin.l - margin.r) * (1 - gapX * (across - 1)) / across;
  const each = square ? side : 280, between = 80; // pixels, of a map and from one to the next below
  const inner = rows * each + (rows - 1) * between, grid = cells(list.length, across, gapX, between / inner);
  const shape = layout(inner + margin.t + margin.b, { annotations: [], margin });
  const traces = list.map((map, n) => {
    const tag = n ? String(n + 1) : "", cell = grid[n], last = list.findLastIndex((other) => other.unit === map.unit) === n;
    shape[`xaxis${tag}`] = axis({ domain: cell.x, anchor: `y${tag}`, title: { text: map.xTitle }, showgrid: false, ...(map.xAxis || {}) });
    shape[`yaxis${tag}`] = axis({ domain: cell.y, anchor: `x${tag}`, title: { text: cell.first ? map.yTitle : "" }, showgrid: false, autorange: "reversed",
      ...(map.yAxis || {}), ...(map.yAxis && map.yAxis.ticktext && !cell.first ? { showticklabels: false } : {}), ...(square ? { scaleanchor: `x${tag}`, constrain: "domain" } : {}) });
    if (square) shape[`xaxis${tag}`].constrain = "domain";
    shape.annotations.push(heading(`<b>${map.title}</b>`, cell));
    return { type: "heatmap", z: map.z, x: map.x, y: map.y, zmin: map.low, zmax: map.high, colorscale: map.colours, meta: map.title, name: map.title,
      xaxis: `x${tag}`, yaxis: `y${tag}`, showscale: last || rows > 1,
      colorbar: { title: { text: map.unit }, thickness: 10, outlinewidth: 0, x: cell.x[1], xanchor: "left", y: (cell.y[0] + cell.y[1]) / 2, len: cell.y[1] - cell.y[0], ypad: 0, xpad: 6 } };
  });
  return plot(id, traces, shape);
}
