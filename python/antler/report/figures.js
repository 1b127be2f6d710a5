/* figures.js - the figures of the run that is chosen. */

/* Words for an axis of time, with its unit where the data have one. */
const ofTime = (truth, words) => (truth && truth.unit ? `${words} [${truth.unit}]` : words);
const sinceStart = (truth) => (truth.dt ? ofTime(truth, "time since the free run began") : "row since the free run began");
/* A name that fits beside so many pixels. */
const fitting = (name, pixels) => (name.length * 8.6 > pixels ? `${name.slice(0, Math.max(3, Math.floor(pixels / 8.6) - 1))}…` : name);

function axisChoices(labels) {
  const chosen = [..."xyz"].map((a) => byId(`axis-${a}`)).filter(Boolean).map((s) => Number(s.value));
  return chosen.length === 3 && chosen.every((c) => c < labels.length) ? chosen : [0, 1, 2];
}

function attractor() {
  const run = current(), truth = truthOf(run);
  if (!truth) return plot("fig-attractor", []);
  const mine = orbitOf(run), [i, j, k] = axisChoices(truth.labels);
  const traces = [[truth.orbit, "data", "--true", 3, 0.55], [mine, "free run", "--generated", 2, 1]]
    .filter(([orbit]) => orbit.solid.length > 2)
    .map(([orbit, name, color, width, opacity]) => ({ type: "scatter3d", mode: "lines", name, opacity, hoverinfo: "name", connectgaps: false,
      x: orbit.solid[i], y: orbit.solid[j], z: orbit.solid[k], line: { color: css(color), width } }));
  if (!traces.length) return plot("fig-attractor", []);
  const side = (column) => ({ title: { text: truth.labels[column] }, gridcolor: css("--grid"), showbackground: false,
    zerolinecolor: css("--grid"), color: css("--text"), showspikes: false,
    range: range(truth.orbit.solid[column] || [], mine.solid[column] || []) });
  const far = narrow() ? 1.9 : 1.42;
  const scene = { xaxis: side(i), yaxis: side(j), zaxis: side(k), dragmode: "orbit", aspectmode: "cube",
    uirevision: "keep", camera: { eye: { x: far, y: -far, z: 0.42 * far }, center: { x: 0, y: 0, z: -0.16 } } };
  return plot("fig-attractor", traces, layout(narrow() ? 380 : 560, { scene, margin: { l: 0, r: 0, t: 24, b: 0 }, uirevision: "keep" }));
}

/* Turn and zoom with the keyboard: degrees to the right and up, and a factor of the distance. */
function turn(right, up, factor) {
  const place = byId("fig-attractor");
  if (!report.figures["fig-attractor"]) return;
  const camera = place._fullLayout.scene._scene.getCamera(), eye = camera.eye;
  const far = Math.hypot(eye.x, eye.y, eye.z) * factor, radians = Math.PI / 180;
  const around = Math.atan2(eye.y, eye.x) + right * radians;
  const height = Math.min(1.5, Math.max(-1.5, Math.asin(eye.z / Math.hypot(eye.x, eye.y, eye.z)) + up * radians));
  const moved = { x: far * Math.cos(height) * Math.cos(around), y: far * Math.cos(height) * Math.sin(around), z: far * Math.sin(height) };
  Plotly.relayout(place, { "scene.camera": { eye: moved, center: camera.center, up: { x: 0, y: 0, z: 1 } } });
}

function seriesTraces(run, truth, whole) {
  const step = truth.dt || 1, offset = (run.warmup || 0) + 1, mine = orbitOf(run), traces = [];
  truth.names.forEach((name, n) => {
    const more = { xaxis: "x", yaxis: n ? `y${n + 1}` : "y", showlegend: n === 0, meta: name };
    const add = (x, y, label, color, width) =>
      traces.push(line(x, y, label, css(color), width, Object.assign({ legendgroup: label }, more)));
    if (whole) {
      const t = truth.orbit.whole[n], g = mine.whole[n];
      if (t) add(t.t.map((row) => (row - offset) * step), t.x, "data", "--true", 1.3);
      if (g) add(g.t.map((row) => row * step), g.x, "free run", "--generated", 0.9);
    } else {
      const t = truth.orbit.short[n].slice(offset), g = mine.short[n] || [], rows = Math.max(g.length, 1000);
      add(t.slice(0, rows).map((_, row) => row * step), t.slice(0, rows), "data", "--true", 2);
      if (g.length) add(g.map((_, row) => row * step), g, "free run", "--generated", 1.2);
    }
  });
  return traces;
}

function series() {
  const run = current(), truth = truthOf(run);
  if (!truth) return plot("fig-series", []);
  const whole = byId("series-whole").getAttribute("aria-pressed") === "true", count = truth.names.length;
  const each = Math.max(70, 120 - 8 * count); // pixels
  const shape = layout(70 + each * count, { dragmode: "zoom",
    xaxis: axis({ title: { text: sinceStart(truth) }, anchor: `y${count > 1 ? count : ""}` }) });
  truth.names.forEach((name, n) => {
    const gap = 0.025, high = 1 - n / count, low = 1 - (n + 1) / count + gap;
    shape[n ? `yaxis${n + 1}` : "yaxis"] = axis({ title: { text: fitting(name, each) }, domain: [low, high], nticks: 4,
      range: range(truth.orbit.short[n], (orbitOf(run).short[n]) || []) });
  });
  const traces = seriesTraces(run, truth, whole);
  const known = traces[0].x.length, generated = (orbitOf(run).short[0] || []).length; // short data: as long again without them
  if (!whole) shape.xaxis.range = [0, (truth.dt || 1) * Math.min(2000, Math.max(known, Math.min(generated, 2 * known)))];
  return plot("fig-series", traces, shape);
}

const channels = (truth) => ({ y: truth.all_names.map((_, n) => n + 1), yTitle: truth.all_names.length < truth.variables
  ? `the first ${truth.all_names.length} of ${truth.variables} variables` : "number of the variable" });

function heat() {
  const run = current(), truth = truthOf(run);
  if (!truth || !truth.heat || !run.heat) return plot("fig-heat", []);
  const offset = (run.warmup || 0) + 1, step = truth.dt || 1;
  const both = [["data", truth.heat.map((row) => row.slice(offset, offset + run.heat[0].length))], ["free run", run.heat]];
  return maps("fig-heat", both.map(([title, z]) => ({ title, z, x: z[0].map((_, row) => row * step), low: -3, high: 3, colours: "Cividis",
    unit: "sd", xTitle: sinceStart(truth), ...channels(truth) })));
}

/* PE(n) against n: the model, naive forecasts, a linear model. */
function horizon() {
  const run = current(), truth = truthOf(run), h = run.horizon;
  if (!truth || !h || !h.steps) return plot("fig-horizon", []);
  const time = h.steps.map((n) => n * (truth.dt || 1)), dashed = (color, dash) => ({ line: { color, width: 1.6, dash } });
  const traces = [line(time, h.persistence, "last row repeated", css("--quiet"), 1.6, dashed(css("--quiet"), "dot")),
    line(time, h.average, "mean repeated", css("--quiet"), 1.6, dashed(css("--quiet"), "dash"))];
  if (h.linear) traces.push(line(time, h.linear, "linear model", group(2), 1.8));
  if (finite(h.model).length) traces.push(line(time, h.model, "model", css("--generated"), 2.6, { mode: "lines+markers", marker: { color: css("--generated"), size: 5 } }));
  const lost = h.diverged.findIndex((count) => count > 0);
  byId("horizon-caption").textContent = `Squared error n steps ahead, mean over variables and ${h.windows} windows, in the model's units, after ${h.warmup} rows of warm-up. `
    + (h.linear ? `The linear model is a regression on the last ${h.lags === 1 ? "row" : `${h.lags} rows`}, fitted to ${h.fitted}. ` : `${h.note || ""} `)
    + (lost >= 0 ? `From ${h.steps[lost]} steps on, forecasts of the model diverge in ${h.diverged[lost]} windows or more, and its mean is infinite.` : "");
  /* A linear model of data without noise may have errors near 0; they must not squeeze the others. */
  const others = [...h.model, ...h.persistence, ...h.average].filter((v) => v > 0), all = [...others, ...(h.linear || [])].filter((v) => v > 0);
  const low = Math.max(Math.min(...all), 1e-3 * Math.min(...others)), high = Math.max(...others);
  return plot("fig-horizon", traces, layout(360, { xaxis: logAxis([time], { title: { text: truth.dt ? ofTime(truth, "time ahead") : "rows ahead" } }),
    yaxis: logAxis([[low, high]], { title: { text: "squared error" }, range: [Math.log10(low) - 0.2, Math.log10(high) + 0.4] }) }));
}

const bold = (names) => names.map((name) => `<b>${name}</b>`);
const sides = (x, truth, run, name) => [line(x, truth, "data", css("--true"), 3), line(x, run, "free run", css("--generated"), 1.4)].map((trace) => ({ ...trace, meta: name }));

function marginals() {
  const run = current(), truth = truthOf(run), mine = run.statistics;
  if (!truth || !mine) return plot("fig-marginals", []);
  if (mine.marginal_map) return maps("fig-marginals", [["data", truth.statistics], ["free run", mine]].map(([title, s]) => ({ title, z: s.marginal_map,
    x: truth.axes.map_bins, low: 0, high: Math.max(...truth.statistics.marginal_map.flat()), colours: "Cividis", unit: "%", xTitle: "standard deviations from the mean of the data", ...channels(truth) })));
  return panels("fig-marginals", bold(truth.names), (n) => {
    const traces = sides(truth.axes.bins[n], truth.statistics.marginals[n], mine.marginals[n]);
    traces.forEach((trace) => { trace.line.shape = "hvh"; });
    Object.assign(traces[0], { fill: "tozeroy", line: { ...traces[0].line, width: 1.2 } });
    /* A free run that stays in a few bins must not squeeze the data. */
    const high = Math.max(...truth.statistics.marginals[n]), top = Math.min(Math.max(high, ...mine.marginals[n]), 2.5 * high);
    return { panel: truth.names[n], traces, x: axis({ nticks: 6 }), y: axis({ range: [0, 1.06 * top], nticks: 4 }), xTitle: "value", yTitle: "% of rows" };
  });
}

function autocorrelation() {
  const run = current(), truth = truthOf(run), mine = run.statistics, xTitle = truth && truth.dt ? (truth.unit ? `lag [${truth.unit}]` : "lag, in time") : "lag, in rows";
  if (!truth || !mine) return plot("fig-autocorrelation", []);
  if (mine.autocorrelation_map) return maps("fig-autocorrelation", [["data", truth.statistics], ["free run", mine]].map(([title, s]) => ({ title, z: s.autocorrelation_map,
    x: truth.axes.map_lags, low: -1, high: 1, colours: diverging(), unit: "ρ", xTitle, ...channels(truth) })));
  return panels("fig-autocorrelation", bold(truth.names), (n) => ({ panel: truth.names[n], xTitle, yTitle: "ρ",
    traces: sides(truth.axes.lags, truth.statistics.autocorrelation[n], mine.autocorrelation[n]), x: axis({ nticks: 6 }), y: axis({ range: [-1.05, 1.05], nticks: 5 }) }));
}

/* Blue for −1, orange for 1; 0 is the colour of the page. */
const diverging = () => [[0, isDark() ? "#56b4e9" : "#08519c"], [0.25, isDark() ? "#2a6f9c" : "#6baed6"], [0.5, isDark() ? "#14171c" : "#ffffff"],
  [0.75, isDark() ? "#a85a2a" : "#fd9d5a"], [1, isDark() ? "#ff8c42" : "#b34700"]];

function correlations() {
  const run = current(), truth = truthOf(run), mine = run.statistics;
  if (!truth || !mine || !mine.correlations) return plot("fig-correlations", []);
  const p = truth.statistics.correlations, q = mine.correlations, few = p.length <= 12, names = truth.all_names.slice(0, p.length);
  const difference = q.map((row, i) => row.map((v, j) => (v === null || p[i][j] === null ? null : Number((v - p[i][j]).toFixed(3)))));
  const most = Math.max(0.1, ...difference.flat().map((v) => Math.abs(v ?? 0)));
  const ticks = few ? { tickvals: names.map((_, n) => n + 1), ticktext: names } : {}, number = names.map((_, n) => n + 1);
  const map = (title, z, reach, unit) => ({ title, z, x: number, y: number, low: -reach, high: reach, colours: diverging(), unit, square: true,
    xTitle: few ? "" : "number of the variable", yTitle: few ? "" : "number of the variable", xAxis: ticks, yAxis: ticks });
  return maps("fig-correlations", [map("data", p, 1, "r"), map("free run", q, 1, "r"), map("difference", difference, most, "Δr")]);
}

function spectra() {
  const run = current(), truth = truthOf(run), s = run.spectra;
  if (!truth || !s || !s.frequency) return plot("fig-spectra", []);
  return panels("fig-spectra", s.true.map((_, n) => `<b>${truth.names[n]}</b>  D<sub>H</sub> = ${s.distance[n].toFixed(3)}`), (n) => ({ panel: truth.names[n],
    traces: sides(s.frequency, s.true[n], s.generated[n]), x: logAxis([s.frequency]), y: logAxis([s.true[n], s.generated[n]]),
    xTitle: truth.dt ? (truth.unit ? `frequency [1/${truth.unit}]` : "frequency") : "frequency per row", yTitle: "power" }));
}

function lyapunov() {
  const found = current().lyapunov, values = found ? found.exponents_per_time || found.exponents : [];
  if (!finite(values).length) return plot("fig-lyapunov", []);
  const unit = (truthOf(current()) || {}).unit, scale = found.exponents_per_time && found.dt ? 1 / found.dt : 1, unforced = found.unforced || [];
  const colour = (v, i) => ((unforced[i] ?? null) !== null ? css("--quiet") : v > 0 ? css("--generated") : css("--true"));
  const trace = { type: "bar", x: values.map((_, i) => i + 1), y: values, marker: { color: values.map(colour) }, name: "exponent",
    error_y: { type: "data", array: found.standard_error.map((v) => v * scale), color: css("--text"), thickness: 1.4, width: 5 } };
  const least = Math.min(0, ...finite(values)), most = Math.max(0, ...finite(values)), room = 0.16 * (most - least) || 1; // for the values
  const error = trace.error_y.array.map((v) => v ?? 0), few = values.length <= 16;
  const words = { type: "scatter", mode: "text", x: trace.x, y: values.map((v, i) => (v === null ? null : v > 0 ? v + error[i] + room / 8 : v - error[i] - room / 8)), hoverinfo: "skip",
    text: values.map((v) => (v === null ? "" : v.toPrecision(3))), textposition: values.map((v) => (v > 0 ? "top center" : "bottom center")) };
  return plot("fig-lyapunov", few ? [trace, words] : [trace], layout(300, { showlegend: false, bargap: 0.45,
    xaxis: axis({ title: { text: "number of the exponent" }, dtick: values.length > 20 ? undefined : 1 }),
    yaxis: axis({ title: { text: found.exponents_per_time ? `per ${unit || "unit of time"}` : "per step" }, range: [least - (least < 0 ? room : 0), most + room], zerolinecolor: css("--quiet") }) }));
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
  const log = current().log, traces = [], parts = [];
  const add = (title, more) => { parts.push([title, more]); return parts.length > 1 ? `y${parts.length}` : "y"; };
  if ((log.iterations || []).some((v) => v > 0)) traces.push(line(log.update, log.iterations, "iterations", group(0), 1.6, { yaxis: add("iterations", { rangemode: "tozero", nticks: 4 }) }));
  if ((log.fallbacks || []).some((v) => v > 0)) traces.push(line(log.update, log.fallbacks, "solved again, in all", group(4), 1.6, { yaxis: add("again", { rangemode: "tozero", nticks: 3 }) }));
  const checks = [["states_agree", "states", 2, "circle"], ["gradient_agrees", "gradient", 1, "square"]].filter(([name]) => log[name] && log[name].value.length);
  const where = checks.length ? add("difference", logAxis(checks.map(([name]) => log[name].value))) : null;
  for (const [name, label, colour, symbol] of checks) traces.push({ x: log[name].update, y: log[name].value.map((v) => Math.max(v, 1e-17)), name: label, type: "scatter",
    mode: "lines+markers", marker: { color: group(colour), symbol, size: 5 }, line: { color: group(colour), width: 1 }, yaxis: where });
  const shape = layout(110 + 105 * Math.max(parts.length, 1), { xaxis: axis({ title: { text: "update" }, anchor: parts.length > 1 ? `y${parts.length}` : "y" }) });
  cells(parts.length, 1, 0, 0.12).forEach((cell, n) => { shape[n ? `yaxis${n + 1}` : "yaxis"] = axis({ title: { text: parts[n][0] }, domain: cell.y, ...parts[n][1] }); });
  byId("solver").textContent = current().solver;
  return plot("fig-convergence", traces, shape);
}

/* Why figures are not there: one line for each reason. */
function notShown() {
  const absent = current().absent || {}, reasons = new Map(), list = document.querySelector("#absent ul");
  for (const [id, reason] of Object.entries(absent)) {
    const title = byId(id) && byId(id).closest("section").hidden ? byId(id).closest("section").querySelector("h2").textContent : null;
    if (title) reasons.set(reason, [...(reasons.get(reason) || []), title]);
  }
  if (byId("fig-convergence").closest("section").hidden) reasons.set(current().solver.replace("Solver: ", ""), ["The parallel solver"]);
  list.replaceChildren(...[...reasons].map(([reason, titles]) => {
    const item = document.createElement("li");
    item.textContent = `${titles.join(", ")}: ${reason}${reason.endsWith(".") ? "" : "."}`;
    return item;
  }));
  byId("absent").hidden = reasons.size === 0;
}
