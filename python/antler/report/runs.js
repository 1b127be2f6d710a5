/* runs.js - figures and tables of all runs side by side. */

const choices = () => data.varying.filter((s) => s !== "seed");
const combination = (run) => choices().map((s) => run.settings[s]).join(", ") || run.name.split("/")[0];
const choiceNames = () => choices().join(", ");

/* The floor of a measure where all evaluated runs have the same one; null elsewhere. */
function commonFloor(measure) {
  const floors = [...new Set(data.runs.filter((run) => run.floors).map((run) => run.floors[measure] ?? null))];
  return floors.length === 1 ? floors[0] : null;
}

function strips() {
  if (!byId("fig-strips")) return Promise.resolve();
  const names = Object.keys(data.labels).filter((m) => data.runs.some((run) => typeof run.measures[m] === "number")).slice(0, 4);
  if (!names.length) names.push("loss");
  const value = (run, m) => (m === "loss" ? run.log.loss[run.log.loss.length - 1] : run.measures[m]);
  const groups = [...new Set(data.runs.map(combination))], traces = [], across = pageWidth() < 700 ? 1 : 2;
  const rows = Math.ceil(names.length / across), grid = cells(names.length, Math.min(across, names.length), 0.11, rows > 1 ? 0.36 / rows : 0);
  const labels = groups.map((g) => (g.length > 24 ? `${g.slice(0, 23)}…` : g));
  const shape = layout(60 + (250 + 4 * Math.max(...labels.map((g) => g.length))) * rows, { showlegend: false, shapes: [] });
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
    const floor = commonFloor(m);
    if (floor !== null) shape.shapes.push({ type: "line", xref: `x${tag} domain`, x0: 0, x1: 1, yref: `y${tag}`, y0: floor, y1: floor,
      line: { color: css("--quiet"), width: 1.4, dash: "dash" } });
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

/* Every row of data and free run in the plane of two variables: payload.py counted them cell by cell. */
function paint(canvas, truth, run) {
  const [width, height] = data.picture, paper = canvas.getContext("2d");
  canvas.width = width * 2;
  canvas.height = height * 2;
  for (const [cells, color] of [[truth.picture, "--true"], [run.picture, "--generated"]]) {
    paper.fillStyle = css(color);
    for (let n = 0; n < (cells || "").length; n++) {
      const level = Number(cells[n]);
      if (level === 0) continue;
      paper.globalAlpha = 0.25 + level / 12;
      paper.fillRect(2 * (n % width), 2 * Math.floor(n / width), 2, 2);
    }
  }
}

function thumbnail(run, number) {
  const truth = truthOf(run), button = document.createElement("button");
  button.className = "thumb";
  button.type = "button";
  button.dataset.run = number;
  if (truth) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `attractor of ${run.name}`);
    paint(canvas, truth, run);
    button.appendChild(canvas);
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
  if (place) place.replaceChildren(...data.runs.slice(0, 96).map(thumbnail));
}

function sortable(table) {
  table.querySelectorAll("th.sort").forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], down = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th.sort").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const key = (row) => { const v = row.cells[column].dataset.value ?? row.cells[column].textContent; const n = Number(v); return v !== "" && !isNaN(n) ? n : v === "" ? Infinity : v; };
    [...body.rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? 1 : -1); }).forEach((row) => body.appendChild(row));
  }));
}
