/* save.js - figures and numbers as files. */

function save(name, type, content) {
  const link = document.createElement("a"), address = URL.createObjectURL(new Blob([content], { type }));
  link.setAttribute("href", address);
  link.setAttribute("download", name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/* Lines of CSV; a text with a comma, a quote or a line break is quoted. */
function csv(rows) {
  const cell = (v) => (v === null || v === undefined ? "" : /[",\n\r]/.test(String(v)) ? `"${String(v).replace(/"/g, '""')}"` : String(v));
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

const plain = (text) => String(text ?? "").replace(/<[^>]*>/g, "");

/* The numbers of a figure, one point in each row: panel, series, then coordinates. */
function figureRows(id) {
  const traces = report.figures[id].data;
  if (traces[0].type === "heatmap") {
    const rows = traces.flatMap((t) => t.z.flatMap((values, i) => values.map((v, j) => [t.meta, t.y[i], t.x[j], v])));
    return [["series", "y", "x", "value"], ...rows];
  }
  if (traces[0].type === "scatter3d") return [["series", "x", "y", "z"], ...traces.flatMap((t) => [...t.x].map((x, i) => [t.name, x, t.y[i], t.z[i]]))];
  if (traces[0].type === "bar") return [["number", "exponent", "standard_error"], ...traces[0].x.map((x, i) => [x, traces[0].y[i], traces[0].error_y.array[i]])];
  return [["panel", "series", "x", "y"], ...traces.flatMap((t) => [...t.x].map((x, i) => [plain(t.meta), plain(t.name), x, t.y[i]]))];
}

const fileName = () => document.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "antler";

/* A figure keeps its colours; its background is that of the page, which is transparent in the page itself. */
async function saveFigure(id, format) {
  const name = `${fileName()}-${id.replace("fig-", "")}`, place = report.figures[id];
  if (format === "csv") return save(`${name}.csv`, "text/csv", csv(figureRows(id)));
  const size = { width: place.clientWidth, height: place.clientHeight };
  const figure = { data: place.data, layout: { ...place.layout, paper_bgcolor: css("--page") }, config: {} };
  if (place._fullLayout.scene) figure.layout.scene = { ...place.layout.scene, camera: place._fullLayout.scene._scene.getCamera() };
  return Plotly.downloadImage(figure, { format, filename: name, scale: format === "png" ? 2 : 1, ...size });
}

/* One row for each measure of each run. */
function measureRows() {
  const rows = data.runs.flatMap((run) => Object.entries(run.measures).map(([name, value]) =>
    [run.name, name, value === null ? "inf" : value, (run.floors || {})[name]]));
  return [["run", "measure", "value", "floor"], ...rows];
}

function saves() {
  document.querySelectorAll("button.save").forEach((button) => button.addEventListener("click", () => saveFigure(button.dataset.figure, button.dataset.format)));
  byId("save-measures").addEventListener("click", () => save(`${fileName()}-measures.csv`, "text/csv", csv(measureRows())));
  byId("save-numbers").addEventListener("click", () => save(`${fileName()}.json`, "application/json",
    JSON.stringify(data, (key, value) => (key === "parts" || key === "picture" ? undefined : value), 1)));
}
