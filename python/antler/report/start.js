/* start.js - begins: unpacks, draws, and follows what the reader does. */

const note = () => {
  const run = current(), words = [run.note, run.status === "not finished" ? "This run is not finished." : ""].filter(Boolean).join(" ");
  byId("run-note").textContent = words;
  byId("run-note").hidden = !words;
};

/* Where only some variables have a panel. */
function some() {
  const truth = truthOf(current()), left = truth && truth.variables > truth.names.length;
  document.querySelectorAll(".some").forEach((place) => { place.textContent = left ? `The first ${truth.names.length} of ${truth.variables} variables.` : ""; });
}

/* What page.py wrote about the run that is chosen; a page of one run has it in place. */
function written() {
  const made = current().parts;
  if (made) document.querySelectorAll("[data-part]").forEach((place) => { place.innerHTML = made[place.dataset.part]; });
}

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

function axisSelects() {
  const place = byId("axes"), truth = data.truths[0];
  if (!truth || truth.labels.length <= 3) return;
  [..."xyz"].forEach((a, i) => {
    const select = document.createElement("select");
    select.id = `axis-${a}`;
    select.setAttribute("aria-label", `variable on the ${a} axis`);
    truth.labels.forEach((label, n) => select.add(new Option(label, n, n === i, n === i)));
    select.addEventListener("change", attractor);
    place.appendChild(select);
  });
}

const TURNS = { ArrowLeft: [-10, 0, 1], ArrowRight: [10, 0, 1], ArrowUp: [0, 10, 1], ArrowDown: [0, -10, 1], "+": [0, 0, 0.9], "-": [0, 0, 1.1] };

function keyboard() {
  const place = byId("fig-attractor");
  place.tabIndex = 0;
  place.addEventListener("keydown", (event) => {
    if (!TURNS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    turn(...TURNS[event.key]);
  });
}

function controls() {
  document.querySelectorAll("table.runs").forEach(sortable);
  document.querySelectorAll("tr.pick").forEach((row) => row.addEventListener("click", () => choose(row.dataset.run)));
  const picker = byId("picker");
  if (picker) picker.addEventListener("change", () => choose(picker.value));
  for (const [id, other] of [["series-short", "series-whole"], ["series-whole", "series-short"]]) {
    byId(id).addEventListener("click", () => {
      byId(id).setAttribute("aria-pressed", "true");
      byId(other).setAttribute("aria-pressed", "false");
      series();
    });
  }
  axisSelects();
  keyboard();
  saves();
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (Math.abs(window.innerWidth - width) > 40) { width = window.innerWidth; drawAll(); } });
}

const OF_A_RUN = [attractor, series, heat, horizon, marginals, autocorrelation, correlations, spectra, lyapunov, training, convergence];
const OF_ALL = [strips, losses];

/* One figure after the other, so that the first ones are there early. */
async function draw(figures) {
  for (const figure of figures) {
    await figure();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

async function drawRun() {
  written();
  mark();
  note();
  some();
  await draw(OF_A_RUN);
  notShown();
}

async function drawAll() {
  thumbnails();
  await draw(OF_ALL);
  await drawRun();
}

/* ---- light and dark, and paper ---- */

const remembered = () => { try { return localStorage.getItem("antler-theme"); } catch { return null; } };
const system = window.matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  if (report.ready) drawAll();
}

/*
 * Paper is white and as wide as a page: figures are drawn for it at once, without pauses. The attractor cannot be: a GPU
 * draws it later. It is scaled as it is, on the colour that it was drawn for.
 */
function paper(on) {
  if (!report.ready) return;
  const place = byId("fig-attractor"), width = place.clientWidth, behind = css("--page");
  report.screen = on ? document.documentElement.dataset.theme : report.screen;
  document.documentElement.dataset.theme = on ? "light" : report.screen;
  document.body.classList.toggle("paper", on);
  report.paper = on;
  Object.assign(place.style, on ? { width: `${width}px`, zoom: pageWidth() / width, background: behind } : { width: "", zoom: "", background: "" });
  thumbnails();
  for (const figure of [...OF_ALL, ...OF_A_RUN]) if (!on || figure !== attractor) figure();
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
  controls();
  await drawAll();
  report.ready = true;
}

theme(remembered() || (system.matches ? "dark" : "light"));
system.addEventListener("change", () => { if (!remembered()) theme(system.matches ? "dark" : "light"); });
byId("theme").addEventListener("click", () => {
  theme(isDark() ? "light" : "dark");
  try { localStorage.setItem("antler-theme", document.documentElement.dataset.theme); } catch { /* a page from a file may not remember */ }
});
byId("print").addEventListener("click", async () => {
  const screen = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  await attractor();
  await new Promise((resolve) => setTimeout(resolve, 300)); // until it is drawn
  window.print();
  theme(screen);
});
window.addEventListener("beforeprint", () => paper(true));
window.addEventListener("afterprint", () => paper(false));
start().catch((error) => { byId("trouble").textContent = error.message; byId("trouble").hidden = false; });
