"""The page itself: tables written here, figures drawn in the browser by page.js."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from .. import build_info
from .._measure_table import table as measure_table
from .._settings import table as settings_table
from ..curves import median_and_mad
from ..runs import Run
from ..tables import BOOKKEEPING, has_diverged, measures, varying

HERE = Path(__file__).resolve().parent


def number(value: Any) -> str:
    """A number as people write it; a cross for one that is infinite."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}".replace(",", "\u202f")
    if isinstance(value, (float, np.floating)):
        return "diverged" if np.isinf(value) else f"{value:.4g}"
    return escape(str(value))


def packed(text: str) -> str:
    """Compressed and in base64: a fifth of its size."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def rows(pairs: Iterable[Tuple[str, str]]) -> str:
    """A table of two columns; both are HTML already."""
    body = "".join(f'<tr><th>{name}</th><td class="wrap">{value}</td></tr>' for name, value in pairs)
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return escape(", ".join(str(item) for item in value))
    return escape(repr(value) if isinstance(value, float) else str(value)) or "–"


def settings(run: Run) -> str:
    """What was changed from the defaults, open; all settings with their meaning, folded."""
    known = settings_table()
    changed = [
        name
        for name, value in run.settings.items()
        if name in known and name not in BOOKKEEPING and str(value) != str(known[name].default)
    ]
    brief = rows((f"<code>{escape(name)}</code>", _value(run.settings[name])) for name in changed)
    body = "".join(
        f"<tr><th><code>{escape(name)}</code></th><td>{_value(value)}</td>"
        f'<td class="wrap">{escape(known[name].meaning)}</td></tr>'
        for name, value in run.settings.items()
        if name in known
    )
    return (
        f"{brief}<details><summary>All {len(run.settings)} settings</summary>"
        f'<div class="scroll tall"><table><tbody>{body}'
        "</tbody></table></div></details>"
    )


def provenance(run: Run) -> str:
    model = run.model if (run.path / "model.npz").exists() else None
    made = [("run", escape(run.name)), ("trained by", escape(model.provenance) if model else "there is no model yet")]
    if model is not None:
        made.append(("model", f"{escape(model.kind)}: M = {model.latent_dim}, L = {model.hidden_dim}, N = {model.dim}"))
    made.append(("training data", _value(run.settings.get("data"))))
    if run.metrics and run.metrics.get("data"):
        made.append(("evaluated on", escape(str(run.metrics["data"]))))
    update = run.log["update"]
    done = int(update[-1]) if len(update) else 0
    made.append(("updates", f"{number(done)} of {number(run.settings['updates'])}"))
    if len(run.log["seconds"]):
        made.append(("time of training", f"{run.log['seconds'][-1]:.4g} s"))
    made.append(("seed, precision", f"{run.settings['seed']}, {escape(str(run.settings['precision']))}"))
    return rows(made)


def _how(run: Run, name: str) -> str:
    """The settings that a measure depends on, in a few words."""
    metrics = run.metrics or {}
    measure = measure_table()[name]
    part = metrics.get(measure.json.split(".")[0]) or {}
    if measure.forecast:
        units = f"in {part['unit']}" if "unit" in part else f"{part.get('units', '')} units"
        words = [f"{number(part.get('n', 0))} steps", f"{part.get('windows', '')} windows", units]
        if part.get("censored_windows"):
            words.append(f"{part['censored_windows']} valid to their end")
    elif name.startswith("dstsp"):
        words = [str(part.get("variant", "")), f"{number(part['samples'])} samples" if "samples" in part else ""]
        if name == "dstsp_embedded":
            words.append(f"m = {part.get('embed_dim')}, τ = {part.get('embed_delay')}")
    elif name == "hellinger":
        words = [f"smoothing {part.get('smoothing', '')}"]
    else:
        words = [f"{number(part.get('steps', 0))} steps"]
    return ", ".join(word for word in words if word)


def _verdict_kind(run: Run) -> str:
    return str((run.verdict or {}).get("kind", ""))


def verdict(run: Run) -> str:
    """What the evaluation concluded, or training on its held-back rows; nothing without either."""
    found = run.verdict
    if not found:
        return ""
    kind = _verdict_kind(run)
    colour = "good" if kind == "good" else "bad" if kind in ("far", "collapsed", "left_range", "diverged") else ""
    words = kind.replace("_", " ")
    return (
        f'<section class="verdict {colour}"><p><b class="{colour}">{escape(words)}</b> {escape(found["text"])}</p>'
        f'<p class="hint">{escape(found["advice"])}</p></section>'
    )


def _floor(run: Run, name: str) -> str:
    """What a measure is compared with: the same between parts of the data, or a naive forecast."""
    floor = ((run.metrics or {}).get("floors") or {}).get(name)
    if floor is None:
        return ""
    word = "naive forecast" if measure_table()[name].forecast else "floor"
    return f'<span class="floor">{word} {number(floor)}</span>'


def cards(run: Run) -> str:
    """The measures of a run, large."""
    found = measures(run)
    made = []
    for name, value in found.items():
        measure = measure_table()[name]
        shown = '<b class="bad">diverged</b>' if np.isinf(value) else f"<b>{number(value)}</b>"
        how = escape(_how(run, name)) if not np.isinf(value) else ""
        made.append(
            f'<div class="card">{measure.html}{shown}{_floor(run, name)}'
            f'<span class="hint">{escape(measure.meaning)}{"; " + how if how else ""}</span></div>'
        )
    if len(run.log["loss"]):
        made.append(
            f'<div class="card">loss<b>{number(float(run.log["loss"][-1]))}</b>'
            f'<span class="hint">squared error of training, at update {number(int(run.log["update"][-1]))}</span></div>'
        )
    missing = (
        ""
        if found
        else (
            f'<p class="note">This run has not been evaluated. <code>antler evaluate {escape(str(run.path))} '
            "--data FILE</code> measures it; then write the report again.</p>"
        )
    )
    return f'<div class="cards">{"".join(made)}</div>{missing}'


def _figure(identity: str, heading: str, caption: str, tools: str = "") -> str:
    return (
        f'<section><h2>{heading}</h2>{tools}<figure><div class="drawing" id="{identity}"></div>'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def details(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    """The figures of one run; with several, a list to choose it from."""
    options = "".join(f'<option value="{i}">{escape(run["name"])}</option>' for i, run in enumerate(content["runs"]))
    bar = (
        f'<div class="bar"><label for="picker">Run</label><select id="picker">{options}</select></div>'
        if len(runs) > 1
        else ""
    )
    buttons = (
        '<div class="tools"><button type="button" id="series-short" aria-pressed="true">beginning</button>'
        '<button type="button" id="series-whole" aria-pressed="false">whole run</button></div>'
    )
    parts = [f'<div id="details">{bar}<p class="note" id="run-note" hidden></p></div>']
    if content["truths"]:
        parts.append(
            _figure(
                "fig-attractor",
                "Attractor",
                "Drag to turn, scroll to zoom. The free run of the model over the true orbit.",
                '<div class="tools" id="axes"></div>',
            )
        )
        parts.append(
            _figure(
                "fig-series",
                "Time series",
                "Drag over an interval to zoom in, double click to zoom out. A chaotic free run leaves "
                "the true orbit after a while; it should then still look like it.",
                buttons,
            )
        )
        if any("heat" in truth for truth in content["truths"]):
            parts.append(
                _figure(
                    "fig-heat",
                    "All variables",
                    "True above, generated below, in standard deviations of the true orbit.",
                )
            )
        parts.append(
            _figure(
                "fig-spectra",
                "Power spectra",
                "Smoothed and normalised, as the Hellinger distance D<sub>H</sub> compares them.",
            )
        )
    parts.append(
        '<div class="pair">'
        + _figure("fig-training", "Training", "Loss and learning rate over the updates.")
        + _figure("fig-convergence", "The parallel solver", '<span id="solver"></span>')
        + "</div>"
    )
    if any(run.metrics and run.metrics.get("lyapunov") for run in runs):
        parts.append(
            _figure(
                "fig-lyapunov",
                "Lyapunov exponents",
                "Of the model, with standard errors. Latent units that only remember have exponents near 0.",
            )
        )
    return "\n".join(parts)


def _measured(runs: Sequence[Run]) -> List[str]:
    return [name for name in measure_table() if any(name in measures(run) for run in runs)]


def runs_table(runs: Sequence[Run]) -> str:
    """Every run; click a heading to sort, a row to see the run below."""
    settings_, names = varying(runs), _measured(runs)
    judged = ["verdict"] if any(_verdict_kind(run) for run in runs) else []
    titles = ["run", *judged, *[f"<code>{escape(name)}</code>" for name in settings_]]
    head = "".join(f'<th class="sort">{title}</th>' for title in titles)
    head += "".join(
        f'<th class="sort n">{title}</th>'
        for title in [*[measure_table()[name].html for name in names], "loss", "iterations", "seconds"]
    )
    body = []
    for i, run in enumerate(runs):
        found = measures(run)
        cells = [f"<td>{escape('/'.join(run.path.resolve().parts[-2:]))}</td>"]
        cells += [f"<td>{escape(_verdict_kind(run).replace('_', ' ')) or '–'}</td>" for _ in judged]
        cells += [f"<td>{_value(run.settings.get(name))}</td>" for name in settings_]
        cells += [_cell(found.get(name)) for name in names]
        cells += [
            _cell(float(run.log[name][-1]) if len(run.log[name]) else None)
            for name in ("loss", "iterations", "seconds")
        ]
        body.append(f'<tr class="pick" data-run="{i}">{"".join(cells)}</tr>')
    return (
        f'<div class="scroll tall"><table class="runs"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
        '<p class="hint">Click a heading to sort, a row to see that run below.</p>'
    )


def _cell(value: Optional[float]) -> str:
    if value is None or np.isnan(value):
        return '<td class="n" data-value="">–</td>'
    kind = "n bad" if np.isinf(value) else "n"
    sorted_by = f"{'-' if value < 0 else ''}1e300" if np.isinf(value) else repr(float(value))
    return f'<td class="{kind}" data-value="{sorted_by}">{number(float(value))}</td>'


def statistics_table(runs: Sequence[Run]) -> str:
    """Median and MAD of each combination of settings; diverged runs count as infinite and are never dropped."""
    settings_ = [name for name in varying(runs) if name != "seed"]
    names = _measured(runs) or ["loss"]
    groups: Dict[Tuple[str, ...], List[Run]] = {}
    for run in runs:
        key = tuple(_value(run.settings.get(name)) for name in settings_) or (
            escape(str(run.settings.get("name", ""))),
        )
        groups.setdefault(key, []).append(run)
    head = "".join(f"<th><code>{escape(name)}</code></th>" for name in settings_ or ["name"])
    head += '<th class="n">runs</th><th class="n">diverged</th>' + "".join(
        f'<th class="n">{measure_table()[name].html if name in measure_table() else name}</th>' for name in names
    )
    body = []
    for key, members in groups.items():
        diverged = sum(has_diverged(run) for run in members)
        cells = "".join(f"<td>{value}</td>" for value in key)
        cells += f'<td class="n">{len(members)}</td><td class="n{" bad" if diverged else ""}">{diverged}</td>'
        for name in names:
            middle, mad = median_and_mad(
                [
                    float(run.log["loss"][-1])
                    if name == "loss" and len(run.log["loss"])
                    else measures(run).get(name, np.nan)
                    for run in members
                ]
            )
            spread = f" ± {mad:.2g}" if np.isfinite(mad) else ""
            cells += f'<td class="n{" bad" if np.isinf(middle) else ""}">{number(middle)}{spread}</td>'
        body.append(f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def one_run(run: Run, content: Dict[str, Any]) -> str:
    return "\n".join(
        [
            verdict(run),
            "<section><h2>Measures</h2>",
            cards(run),
            "</section>",
            details([run], content),
            '<div class="pair"><section><h2>Settings that were changed</h2>',
            settings(run),
            "</section><section><h2>Provenance</h2>",
            provenance(run),
            "</section></div>",
        ]
    )


def many_runs(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    differ = ", ".join(name for name in varying(runs) if name != "seed")
    shown = f" The first 96 of {len(runs)}." if len(runs) > 96 else ""
    attractors = (
        ""
        if not content["truths"]
        else (
            '<section><h2>All attractors</h2><div class="thumbs" id="thumbs"></div>'
            '<p class="hint">Blue is true, orange generated; below each stands '
            f"{escape(differ) or 'its folder'}.{shown} Click one to see it below.</p></section>"
        )
    )
    return "\n".join(
        [
            "<section><h2>Median ± MAD over runs</h2>",
            statistics_table(runs),
            '<p class="hint">A run that diverged counts as infinite and is never dropped.</p></section>',
            "<section><h2>All runs</h2>",
            runs_table(runs),
            "</section>",
            attractors,
            _figure(
                "fig-strips",
                "Runs side by side",
                "Every run is a point, and a cross a run that diverged. Click a point to see that run below.",
            ),
            _figure("fig-losses", "Loss of all runs", "Coloured by the settings in which the runs differ."),
            details(runs, content),
            '<div class="pair"><section><h2>Settings that were changed</h2><p class="hint">Those of the first run.</p>',
            settings(runs[0]),
            "</section><section><h2>Provenance</h2>",
            provenance(runs[0]),
            "</section></div>",
        ]
    )


def _lead(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    if len(runs) == 1:
        data = content["truths"][0] if content["truths"] else None
        against = (
            f"; compared with {escape(data['file'])}, {number(data['rows'])} × {data['variables']}" if data else ""
        )
        return f"{escape(content['runs'][0]['status'].capitalize())}{against}."
    diverged = sum(has_diverged(run) for run in runs)
    differ = varying(runs)
    settings_ = f"; they differ in {escape(', '.join(differ))}" if differ else ""
    return f"{len(runs)} runs, {diverged} diverged{settings_}."


def render(title: str, runs: Sequence[Run], content: Dict[str, Any], plotly: str) -> str:
    """The whole page as text."""
    text = {name: (HERE / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")}
    single = len(runs) == 1
    return Template(text["page.html"]).substitute(
        title=escape(title),
        kind="Antler: a run" if single else "Antler: several runs",
        lead=_lead(runs, content),
        generator=escape(build_info()),
        style=text["page.css"],
        script=text["page.js"],
        body=one_run(runs[0], content) if single else many_runs(runs, content),
        payload=packed(json.dumps(content, separators=(",", ":"), allow_nan=False)),
        plotly=packed(plotly),
    )
