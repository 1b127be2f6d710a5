/* page.js - draws the figures of a report from its payload, in the colours of the page. */
"use strict";
const report = { ready: false, figures: {}, run: 0 }; // for whoever looks at the page from outside
window.antlerReport = report;
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const GROUPS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C"];
const DARK_GROUPS = ["#56B4E9", "#FF8C42", "#4FD1A5", "#E6A3C8", "#F2C14E", "#9ecbff", "#B8B8B8"];
const isDark = () => document.documentElement.dataset.theme === "dark";
const group = (i) => (isDark() ? DARK_GROUPS : GROUPS)[i % GROUPS.length];
const narrow = () => document.documentElement.clientWidth < 640;
let data = null;

/* ---- unpacking ---- */

async function unpack(id) {
  const packed = atob(byId(id).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function start() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the figures; the tables are complete.");
  }
  data = JSON.parse(await unpack("payload"));
  report.run = data.best;
  const library = document.createElement("script");
  library.textContent = await unpack("plotly");
  document.head.appendChild(library);
  if (typeof Plotly === "undefined") throw new Error("plotly.js could not be loaded; the tables are complete.");
  thumbnails();
  controls();
  await drawAll();
  report.ready = true;
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

/* Draw; a figure without anything to draw leaves the page with its heading. */
function plot(id, traces, shape) {
  const place = byId(id);
  if (!place) return Promise.resolve();
  place.closest("section").hidden = traces.length === 0;
  delete report.figures[id];
  if (traces.length === 0) return Promise.resolve();
  report.figures[id] = place;
  const config = { responsive: true, displayModeBar: false };
  return Plotly.react(place, traces, shape, config);
}

/* A logarithmic axis with whole powers only, where the values span enough of them. */
function logAxis(columns, more) {
  let low = Infinity, high = -Infinity;
  for (const values of columns) for (const v of values || []) if (v > 0) { if (v < low) low = v; if (v > high) high = v; }
  const decades = Math.log10(high / low);
  const ticks = decades > 1.3 && isFinite(decades) ? { dtick: Math.max(1, Math.round(decades / 5)) } : { nticks: 5 };
  return axis(Object.assign({ type: "log" }, ticks, more));
}

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

/* ---- one run ---- */

const current = () => data.runs[report.run];
const truthOf = (run) => (run.truth === null ? null : data.truths[run.truth]);
const orbitOf = (run) => (run.orbit ? run.orbit : { solid: [], short: [], whole: [] });

function axisChoices(labels) {
  const chosen = [..."xyz"].map((a) => byId(`axis-${a}`)).filter(Boolean).map((s) => Number(s.value));
  return chosen.length === 3 && chosen.every((c) => c < labels.length) ? chosen : [0, 1, 2];
}

function attractor() {
  const run = current(), truth = truthOf(run);
  if (!truth) return plot("fig-attractor", []);
  const mine = orbitOf(run), [i, j, k] = axisChoices(truth.labels);
  const traces = [[truth.orbit, "true", "--true", 3, 0.55], [mine, "generated", "--generated", 2, 1]]
    .filter(([orbit]) => orbit.solid.length > 2)
    .map(([orbit, name, color, width, opacity]) => ({ type: "scatter3d", mode: "lines", name, opacity, hoverinfo: "name",
      x: orbit.solid[i], y: orbit.solid[j], z: orbit.solid[k], line: { color: css(color), width } }));
  const side = (column) => ({ title: { text: truth.labels[column] }, gridcolor: css("--grid"), showbackground: false,
    zerolinecolor: css("--grid"), color: css("--text"), showspikes: false,
    range: range(truth.orbit.solid[column], mine.solid[column] || []) });
  const far = narrow() ? 1.9 : 1.42;
  const scene = { xaxis: side(i), yaxis: side(j), zaxis: side(k), dragmode: "orbit", aspectmode: "cube",
    uirevision: "keep", camera: { eye: { x: far, y: -far, z: 0.42 * far }, center: { x: 0, y: 0, z: -0.16 } } };
  return plot("fig-attractor", traces, layout(narrow() ? 380 : 560, { scene, margin: { l: 0, r: 0, t: 24, b: 0 }, uirevision: "keep" }));
}

function seriesTraces(run, truth, whole) {
  const step = truth.dt || 1, offset = (run.warmup || 0) + 1, mine = orbitOf(run), traces = [];
  truth.names.forEach((name, n) => {
    const more = { xaxis: "x", yaxis: n ? `y${n + 1}` : "y", showlegend: n === 0 };
    const add = (x, y, label, color, width) =>
      traces.push(line(x, y, label, css(color), width, Object.assign({ legendgroup: label }, more)));
    if (whole) {
      const t = truth.orbit.whole[n], g = mine.whole[n];
      if (t) add(t.t.map((row) => (row - offset) * step), t.x, "true", "--true", 1.3);
      if (g) add(g.t.map((row) => row * step), g.x, "generated", "--generated", 0.9);
    } else {
      const t = truth.orbit.short[n].slice(offset), g = mine.short[n] || [], rows = Math.max(g.length, 1000);
      add(t.slice(0, rows).map((_, row) => row * step), t.slice(0, rows), "true", "--true", 2);
      add(g.map((_, row) => row * step), g, "generated", "--generated", 1.2);
    }
  });
  return traces;
}

function series() {
  const run = current(), truth = truthOf(run);
  if (!truth) return plot("fig-series", []);
  const whole = byId("series-whole").getAttribute("aria-pressed") === "true", count = truth.names.length;
  const shape = layout(70 + Math.max(70, 120 - 8 * count) * count, { dragmode: "zoom",
    xaxis: axis({ title: { text: truth.dt ? "time since the free run began" : "row since the free run began" }, anchor: `y${count > 1 ? count : ""}` }) });
  truth.names.forEach((name, n) => {
    const gap = 0.025, high = 1 - n / count, low = 1 - (n + 1) / count + gap;
    shape[n ? `yaxis${n + 1}` : "yaxis"] = axis({ title: { text: name }, domain: [low, high], nticks: 4,
      range: range(truth.orbit.short[n], (orbitOf(run).short[n]) || []) });
  });
  if (!whole) shape.xaxis.range = [0, (truth.dt || 1) * Math.min(2000, truth.orbit.short[0].length)];
  return plot("fig-series", seriesTraces(run, truth, whole), shape);
}

/* Cells of a grid of panels, filled row by row. */
function cells(count, across, gapX, gapY) {
  const rows = Math.ceil(count / across);
  return [...Array(count).keys()].map((n) => {
    const c = n % across, r = Math.floor(n / across), w = (1 - gapX * (across - 1)) / across, h = (1 - gapY * (rows - 1)) / rows;
    return { x: [c * (w + gapX), c * (w + gapX) + w], y: [1 - r * (h + gapY) - h, 1 - r * (h + gapY)], first: c === 0, last: n + across >= count };
  });
}

function spectra() {
  const run = current(), truth = truthOf(run), s = run.spectra;
  if (!truth || !s || !s.frequency) return plot("fig-spectra", []);
  byId("fig-spectra").closest("section").hidden = false; // its width decides on the layout
  const count = s.true.length, width = byId("fig-spectra").clientWidth, across = Math.min(count, width < 520 ? 1 : width < 900 ? 2 : 3);
  const rows = Math.ceil(count / across), grid = cells(count, across, 0.09, rows > 1 ? Math.min(0.16, 0.5 / rows) : 0), traces = [];
  const shape = layout(70 + 200 * rows, { annotations: [], margin: { l: 58, r: 14, t: 44, b: 46 } });
  shape.legend.y = 1 + 20 / (200 * rows);
  grid.forEach((cell, n) => {
    const tag = n ? String(n + 1) : "", more = { xaxis: `x${tag}`, yaxis: `y${tag}`, showlegend: n === 0 };
    traces.push(line(s.frequency, s.true[n], "true", css("--true"), 3, { legendgroup: "true", ...more }));
    traces.push(line(s.frequency, s.generated[n], "generated", css("--generated"), 1.2, { legendgroup: "generated", ...more }));
    shape[`xaxis${tag}`] = logAxis([s.frequency], { domain: cell.x, anchor: `y${tag}`, title: cell.last ? { text: truth.dt ? "frequency" : "frequency per row" } : undefined });
    shape[`yaxis${tag}`] = logAxis([s.true[n], s.generated[n]], { domain: cell.y, anchor: `x${tag}`, title: cell.first ? { text: "power", standoff: 8 } : undefined });
    shape.annotations.push({ text: `<b>${truth.names[n]}</b>  D<sub>H</sub> = ${s.distance[n].toFixed(3)}`, x: cell.x[0], xref: "paper", xanchor: "left", y: cell.y[1], yref: "paper", yanchor: "bottom", showarrow: false });
  });
  return plot("fig-spectra", traces, shape);
}

const TERMS = { loss: "squared error", mar: "MAR", readout: "readout", singular: "singular values" };

const HELD_BACK = { val_dstsp: "D<sub>stsp</sub> held back", val_hellinger: "D<sub>H</sub> held back", val_prediction_error: "PE held back" };

function training() {
  const log = current().log, traces = [];
  if (!log.update.length) return plot("fig-training", []);
  Object.entries(TERMS).forEach(([term, label], i) => {
    if (log[term] && (term === "loss" || log[term].some((v) => v > 0))) traces.push(line(log.update, log[term], label, group(i), 1.6));
  });
  traces.push(line(log.update, log.lr, "learning rate", css("--quiet"), 1.2, { yaxis: "y2", line: { color: css("--quiet"), width: 1.2, dash: "dot" } }));
  const held = Object.keys(HELD_BACK).filter((name) => log[name] && log[name].value.length);
  held.forEach((name, i) => traces.push({ x: log[name].update, y: log[name].value, name: HELD_BACK[name], type: "scatter", mode: "lines+markers",
    marker: { color: group(i + 1), size: 5 }, line: { color: group(i + 1), width: 1.2 }, yaxis: "y3" }));
  const low = held.length ? 0.17 : 0.26, shape = layout(held.length ? 470 : 320, { xaxis: axis({ title: { text: "update" }, anchor: "y2" }),
    yaxis: logAxis([log.loss], { title: { text: "loss" }, domain: [held.length ? 0.6 : 0.34, 1] }),
    yaxis2: logAxis([log.lr], { title: { text: "rate" }, domain: [0, low] }) });
  if (held.length) shape.yaxis3 = logAxis(held.map((name) => log[name].value), { title: { text: "held back" }, domain: [0.23, 0.54] });
  return plot("fig-training", traces, shape);
}

/* Panels one below the other: iterations and repeats where there are any, then the difference from plain loops. */
function convergence() {
  const log = current().log, traces = [], panels = [];
  const add = (title, more) => { panels.push([title, more]); return panels.length > 1 ? `y${panels.length}` : "y"; };
  if ((log.iterations || []).some((v) => v > 0)) traces.push(line(log.update, log.iterations, "iterations", group(0), 1.6, { yaxis: add("iterations", { rangemode: "tozero", nticks: 4 }) }));
  if ((log.fallbacks || []).some((v) => v > 0)) traces.push(line(log.update, log.fallbacks, "solved again, in all", group(4), 1.6, { yaxis: add("again", { rangemode: "tozero", nticks: 3 }) }));
  const checks = [["states_agree", "states", 2, "circle"], ["gradient_agrees", "gradient", 1, "square"]].filter(([name]) => log[name] && log[name].value.length);
  const where = checks.length ? add("difference", logAxis(checks.map(([name]) => log[name].value))) : null;
  for (const [name, label, colour, symbol] of checks) traces.push({ x: log[name].update, y: log[name].value.map((v) => Math.max(v, 1e-17)), name: label, type: "scatter",
    mode: "lines+markers", marker: { color: group(colour), symbol, size: 5 }, line: { color: group(colour), width: 1 }, yaxis: where });
  const shape = layout(110 + 105 * Math.max(panels.length, 1), { xaxis: axis({ title: { text: "update" }, anchor: panels.length > 1 ? `y${panels.length}` : "y" }) });
  cells(panels.length, 1, 0, 0.12).forEach((cell, n) => { shape[n ? `yaxis${n + 1}` : "yaxis"] = axis({ title: { text: panels[n][0] }, domain: cell.y, ...panels[n][1] }); });
  byId("solver").textContent = current().solver;
  return plot("fig-convergence", traces, shape).then(() => { byId("fig-convergence").closest("section").hidden = false; }); // the sentence stays
}

function lyapunov() {
  const found = current().lyapunov, values = found ? found.exponents_per_time || found.exponents : [];
  const scale = found && found.exponents_per_time && found.dt ? 1 / found.dt : 1;
  const trace = { type: "bar", x: values.map((_, i) => i + 1), y: values, marker: { color: values.map((v) => (v > 0 ? css("--generated") : css("--true"))) },
    error_y: { type: "data", array: found ? found.standard_error.map((v) => v * scale) : [], color: css("--text"), thickness: 1 }, name: "exponent" };
  return plot("fig-lyapunov", finite(values).length ? [trace] : [], layout(300, { showlegend: false,
    xaxis: axis({ title: { text: "number of the exponent" }, dtick: values.length > 20 ? undefined : 1 }),
    yaxis: axis({ title: { text: found && found.exponents_per_time ? "per unit of time" : "per step" } }) }));
}

function heat() {
  const run = current(), truth = truthOf(run);
  if (!truth || !truth.heat) return plot("fig-heat", []);
  const offset = (run.warmup || 0) + 1, step = truth.dt || 1;
  const map = (z, name, tag) => ({ type: "heatmap", z, name, dx: step, x0: 0, y0: 1, dy: 1, zmin: -3, zmax: 3, colorscale: "Cividis",
    xaxis: "x", yaxis: `y${tag}`, showscale: tag === "", colorbar: { title: { text: "sd" }, thickness: 12 } });
  const traces = [map(truth.heat.map((row) => row.slice(offset, offset + 600)), "true", "")];
  if (run.heat) traces.push(map(run.heat, "generated", "2"));
  return plot("fig-heat", traces, layout(460, { xaxis: axis({ title: { text: truth.dt ? "time" : "row" }, anchor: "y2" }),
    yaxis: axis({ title: { text: "true" }, domain: [0.53, 1], autorange: "reversed" }),
    yaxis2: axis({ title: { text: "generated" }, domain: [0, 0.47], autorange: "reversed" }) }));
}

/* ---- all runs ---- */

const choices = () => data.varying.filter((s) => s !== "seed");
const combination = (run) => choices().map((s) => run.settings[s]).join(", ") || run.name.split("/")[0];
const choiceNames = () => choices().join(", ");

function strips() {
  if (!byId("fig-strips")) return Promise.resolve();
  const names = Object.keys(data.labels).filter((m) => data.runs.some((run) => typeof run.measures[m] === "number")).slice(0, 4);
  if (!names.length) names.push("loss");
  const value = (run, m) => (m === "loss" ? run.log.loss[run.log.loss.length - 1] : run.measures[m]);
  const groups = [...new Set(data.runs.map(combination))], traces = [], across = byId("fig-strips").clientWidth < 700 ? 1 : 2;
  const rows = Math.ceil(names.length / across), grid = cells(names.length, Math.min(across, names.length), 0.11, rows > 1 ? 0.36 / rows : 0);
  const labels = groups.map((g) => (g.length > 24 ? `${g.slice(0, 23)}…` : g));
  const shape = layout(60 + (250 + 4 * Math.max(...labels.map((g) => g.length))) * rows, { showlegend: false });
  names.forEach((m, n) => {
    const tag = n ? String(n + 1) : "", good = data.runs.map((run) => value(run, m)).filter((v) => typeof v === "number" && isFinite(v));
    const logarithmic = good.length > 0 && Math.min(...good) > 0 && Math.max(...good) > 8 * Math.min(...good), top = good.length ? Math.max(...good) : 1, bottom = good.length ? Math.min(...good) : 1;
    groups.forEach((name, g) => {
      const members = data.runs.map((run, i) => [run, i]).filter(([run]) => combination(run) === name);
      const scatter = (k) => g + 0.5 * ((k + 0.5) / members.length - 0.5);
      const known = (run) => typeof value(run, m) === "number";
      const dot = (kept, symbol, y) => traces.push({ type: "scatter", mode: "markers", xaxis: `x${tag}`, yaxis: `y${tag}`, name, hoverinfo: "text",
        x: members.map((_, k) => scatter(k)).filter((_, k) => kept(members[k][0])), y: members.filter(([run]) => kept(run)).map(([run]) => y(run)),
        text: members.filter(([run]) => kept(run)).map(([run]) => `${run.name}: ${known(run) ? value(run, m).toPrecision(4) : "diverged"}`),
        customdata: members.filter(([run]) => kept(run)).map(([, i]) => i), marker: { symbol, size: symbol === "x-thin" ? 9 : 7, color: group(g), line: { width: symbol === "x-thin" ? 2 : 0, color: group(g) } } });
      dot(known, "circle", (run) => value(run, m));
      if (m !== "loss") dot((run) => !known(run) && run.diverged, "x-thin", () => (data.better[m] > 0 ? bottom / (logarithmic ? 3 : 1.15) : top * (logarithmic ? 3 : 1.15)));
    });
    shape[`xaxis${tag}`] = axis({ domain: grid[n].x, anchor: `y${tag}`, tickvals: groups.map((_, g) => g), ticktext: labels, range: [-0.6, groups.length - 0.4], zeroline: false, title: { text: choiceNames() }, tickangle: groups.length > 2 ? -40 : 0 });
    shape[`yaxis${tag}`] = axis({ domain: grid[n].y, anchor: `x${tag}`, title: { text: data.labels[m] || m }, nticks: 6 });
    if (logarithmic) shape[`yaxis${tag}`] = logAxis([good], { domain: grid[n].y, anchor: `x${tag}`, title: { text: data.labels[m] || m } });
  });
  return plot("fig-strips", traces, shape).then(() => {
    const place = byId("fig-strips");
    if (!place.dataset.listens) { place.dataset.listens = "1"; place.on("plotly_click", (event) => choose(event.points[0].customdata)); }
  });
}

function losses() {
  if (!byId("fig-losses")) return Promise.resolve();
  const groups = [...new Set(data.runs.map(combination))], shown = new Set();
  const traces = data.runs.map((run) => {
    const name = combination(run), first = !shown.has(name);
    shown.add(name);
    return line(run.log.update, run.log.loss, name, group(groups.indexOf(name)), 1.1, { legendgroup: name, showlegend: first && groups.length <= 12, hoverinfo: "text", text: run.name });
  });
  const shape = layout(380, { xaxis: axis({ title: { text: "update" } }), yaxis: logAxis(data.runs.map((run) => run.log.loss), { title: { text: "loss" } }) });
  shape.legend = { orientation: "h", title: { text: `${choiceNames()}  ` }, y: -0.2, yanchor: "top", x: 0, bgcolor: "rgba(0,0,0,0)", font: { size: 11 } };
  shape.margin.b = 30;
  return plot("fig-losses", traces, shape);
}

const path = (xs, ys, sx, sy) => {
  let text = "", pen = "M";
  for (let i = 0; i < xs.length; i++) {
    if (xs[i] === null || ys[i] === null) { pen = "M"; continue; }
    text += `${pen}${sx(xs[i]).toFixed(1)} ${sy(ys[i]).toFixed(1)}`;
    pen = "L";
  }
  return text;
};

function thumbnail(run, number) {
  const truth = truthOf(run), button = document.createElement("button");
  button.className = "thumb";
  button.type = "button";
  button.dataset.run = number;
  const mine = orbitOf(run).solid, [a, b] = [0, 2], rows = 700;
  if (truth) {
    const rx = range(truth.orbit.solid[a], []), ry = range(truth.orbit.solid[b], []);
    const sx = (v) => Math.min(400, Math.max(-300, (100 * (v - rx[0])) / (rx[1] - rx[0]))), sy = (v) => Math.min(400, Math.max(-300, 80 - (80 * (v - ry[0])) / (ry[1] - ry[0])));
    const curve = (orbit, kind) => (orbit.length > 2 ? `<path class="${kind}" d="${path(orbit[a].slice(0, rows), orbit[b].slice(0, rows), sx, sy)}"/>` : "");
    button.innerHTML = `<svg viewBox="0 0 100 80" role="img" aria-label="attractor">${curve(truth.orbit.solid, "t")}${curve(mine, "g")}</svg>`;
  }
  const text = document.createElement("span");
  text.textContent = choices().length ? `${combination(run)}; run ${run.name.split("/").pop()}` : run.name;
  if (run.diverged) { text.className = "bad"; text.textContent += " (diverged)"; }
  button.appendChild(text);
  button.addEventListener("click", () => choose(number, true));
  return button;
}

function thumbnails() {
  const place = byId("thumbs");
  if (place) data.runs.slice(0, 96).forEach((run, i) => place.appendChild(thumbnail(run, i)));
}

/* ---- controls ---- */

const note = () => {
  const run = current(), words = [run.note, run.status === "done" ? "" : `This run: ${run.status}.`].filter(Boolean).join(" ");
  byId("run-note").textContent = words;
  byId("run-note").hidden = !words;
};

function mark() {
  document.querySelectorAll("tr.pick").forEach((row) => row.setAttribute("aria-selected", Number(row.dataset.run) === report.run));
  document.querySelectorAll(".thumb").forEach((button) => button.setAttribute("aria-pressed", Number(button.dataset.run) === report.run));
  const picker = byId("picker");
  if (picker) picker.value = report.run;
}

function choose(number, scroll) {
  report.run = Number(number);
  drawRun();
  if (scroll) byId("details").scrollIntoView({ behavior: "smooth" });
}

function sortable(table) {
  table.querySelectorAll("th.sort").forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], down = head.dataset.down !== "1";
    head.dataset.down = down ? "1" : "0";
    const key = (row) => { const v = row.cells[column].dataset.value ?? row.cells[column].textContent; const n = Number(v); return v !== "" && !isNaN(n) ? n : v === "" ? Infinity : v; };
    [...body.rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? 1 : -1); }).forEach((row) => body.appendChild(row));
  }));
}

function axisSelects() {
  const place = byId("axes"), truth = data.truths[0];
  if (!place || !truth || truth.labels.length <= 3) return;
  [..."xyz"].forEach((a, i) => {
    const select = document.createElement("select");
    select.id = `axis-${a}`;
    select.setAttribute("aria-label", `variable on the ${a} axis`);
    truth.labels.forEach((label, n) => select.add(new Option(label, n, n === i, n === i)));
    select.addEventListener("change", attractor);
    place.appendChild(select);
  });
}

function controls() {
  document.querySelectorAll("table.runs").forEach(sortable);
  document.querySelectorAll("tr.pick").forEach((row) => row.addEventListener("click", () => choose(row.dataset.run)));
  const picker = byId("picker");
  if (picker) picker.addEventListener("change", () => choose(picker.value));
  for (const [id, other] of [["series-short", "series-whole"], ["series-whole", "series-short"]]) {
    if (byId(id)) byId(id).addEventListener("click", () => {
      byId(id).setAttribute("aria-pressed", "true");
      byId(other).setAttribute("aria-pressed", "false");
      series();
    });
  }
  axisSelects();
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (Math.abs(window.innerWidth - width) > 40) { width = window.innerWidth; drawAll(); } });
}

const drawRun = () => { mark(); note(); return Promise.all([attractor(), series(), spectra(), training(), convergence(), lyapunov(), heat()]); };
const drawAll = () => Promise.all([drawRun(), strips(), losses()]);

/* ---- light and dark ---- */

const remembered = () => { try { return localStorage.getItem("antler-theme"); } catch { return null; } };
const system = window.matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  if (report.ready) drawAll();
}
theme(remembered() || (system.matches ? "dark" : "light"));
system.addEventListener("change", () => { if (!remembered()) theme(system.matches ? "dark" : "light"); });
byId("theme").addEventListener("click", () => {
  theme(isDark() ? "light" : "dark");
  try { localStorage.setItem("antler-theme", document.documentElement.dataset.theme); } catch { /* a page from a file may not remember */ }
});
start().catch((error) => { byId("trouble").textContent = error.message; byId("trouble").hidden = false; });
