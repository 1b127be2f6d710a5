"""The page itself: tables written here, figures drawn in the browser by page.js."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape, unescape
from pathlib import Path
from shlex import quote
from string import Template
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from .. import build_info
from .._measure_table import table as measure_table
from .._settings import table as settings_table
from ..curves import median_and_mad
from ..model import Model
from ..runs import Run
from ..tables import BOOKKEEPING, has_diverged, measures, varying

HERE = Path(__file__).resolve().parent
SCRIPTS = ("page.js", "figures.js", "runs.js", "save.js", "start.js")


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


def _model(model: Model) -> str:
    """Kind and sizes of a model."""
    kind = model.kind + (" (clipped)" if model.clipped else "") + (f" of rank {model.rank}" if model.rank else "")
    sizes = f"M = {model.latent_dim}, L = {model.hidden_dim}, N = {model.dim}"
    return escape(f"{kind}: {sizes}" + (f", {model.input_dim} inputs" if model.input_dim else ""))


def _updates(run: Run) -> str:
    """After how many updates the model was kept, and how many there were to be."""
    update = run.log["update"]
    done, kept, planned = int(update[-1]) if len(update) else 0, run.model_update, run.settings["updates"]
    at = f", of which the model has {number(kept)}" if kept and kept != done else ""
    return f"{number(done)} of {number(planned)}{at}"


def about(run: Run) -> str:
    """Which model a verdict is about."""
    if not run.has_model:
        return ""
    name = f"<code>{escape(str(run.model_file))}</code>, {_model(run.model)}"
    chance = f"seed {run.settings['seed']}" + (f", run {run.number}" if run.number else "")
    return f'<p class="hint">Model {name}, updates {_updates(run)}, {chance}.</p>'


def provenance(run: Run) -> List[Tuple[str, str]]:
    """Where a run comes from; pairs of HTML."""
    model = run.model if run.has_model else None
    made = [("run", escape(run.name)), ("trained by", escape(model.provenance) if model else "there is no model yet")]
    if model is not None:
        made += [("model", _model(model)), ("model file", escape(str(run.model_file)))]
    made.append(("training data", _value(run.settings.get("data"))))
    if run.metrics and run.metrics.get("data"):
        made.append(("evaluated on", escape(str(run.metrics["data"]))))
    made.append(("updates", _updates(run)))
    if len(run.log["seconds"]):
        made.append(("time of training", f"{run.log['seconds'][-1]:.4g} s"))
    made.append(("seed, precision", f"{run.settings['seed']}, {escape(str(run.settings['precision']))}"))
    return made


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


def _verdict_section(run: Run, kind: str, text: str, hint: str) -> str:
    """`text` and `hint` are HTML."""
    colour = "good" if kind == "good" else "bad" if kind in ("far", "collapsed", "left_range", "diverged") else ""
    shown = f'<p><b class="{colour}">{escape(kind.replace("_", " "))}</b> {text}</p>'
    return f'<section class="verdict {colour}">{shown}<p class="hint">{hint}</p>{about(run)}</section>'


def _evaluate_command(run: Run) -> str:
    return (
        f"<code>antler evaluate {escape(quote(str(run.file or run.path)))}{'' if run.file else ' --data FILE'}</code> "
        "measures it; then write the report again."
    )


def verdict(run: Run) -> str:
    """What the evaluation concluded, or training on its held-back rows, or why there is no verdict."""
    found = run.verdict
    if run.diverged is not None:
        return _verdict_section(run, "diverged", f"The training diverged: {escape(run.diverged)}.", "")
    if found:
        advice = escape(found["advice"])
        if run.metrics is None:
            advice += f" This verdict is on the held-back rows of training. {_evaluate_command(run)}"
        return _verdict_section(run, _verdict_kind(run), escape(found["text"]), advice)
    if run.metrics is not None:
        return _verdict_section(run, "no verdict", "This run was evaluated without a verdict.", "")
    if not run.has_model:
        return _verdict_section(run, "no verdict", "There is no model yet.", "")
    return _verdict_section(run, "no verdict", "This run has not been evaluated.", _evaluate_command(run))


def _floor(run: Run, name: str) -> str:
    """What a measure is compared with: the same between parts of the data, or a naive forecast."""
    floor = ((run.metrics or {}).get("floors") or {}).get(name)
    if floor is None:
        return ""
    word = "naive forecast" if measure_table()[name].forecast else "floor"
    return f'<span class="floor">{word} {number(floor)}</span>'


def exponent_reading(value: float, error: float) -> str:
    """What the largest Lyapunov exponent says; two standard errors decide."""
    if abs(value) <= 2 * error:
        return "zero within two standard errors: a cycle, a torus or a neutral direction"
    return "positive: chaotic" if value > 0 else "negative: the free run settles at a fixed point"


def _unforced(run: Run) -> List[int]:
    """Numbers of the exponents that the reduced Kaplan–Yorke dimension leaves out."""
    found = ((run.metrics or {}).get("lyapunov") or {}).get("unforced") or []
    return [i + 1 for i, value in enumerate(found) if value is not None]


def _card_hint(run: Run, name: str, value: float) -> str:
    measure, found = measure_table()[name], (run.metrics or {}).get("lyapunov") or {}
    words = escape(measure.meaning)
    if name == "lyapunov_max" and found.get("standard_error"):
        error = found["standard_error"][0] or 0.0
        words = f"± {number(error)}; {exponent_reading(value, error)}"
    how = escape(_how(run, name))
    return words + ("; " + how if how else "")


def _reduced(run: Run) -> bool:
    """Whether the dimension is another one without the latent directions that the data do not force."""
    found = (run.metrics or {}).get("lyapunov") or {}
    return bool(_unforced(run)) and abs(found["kaplan_yorke"] - found["kaplan_yorke_reduced"]) > 0.005


def _beside(run: Run, name: str) -> str:
    """What stands beside a measure: its floor, or a second value."""
    left_out = _unforced(run) if _reduced(run) else []
    if name == "kaplan_yorke" and left_out:
        value = number((run.metrics or {})["lyapunov"]["kaplan_yorke_reduced"])
        which = "a direction" if len(left_out) == 1 else f"{len(left_out)} directions"
        which += " that the data do not force"
        return f'<span class="floor">{value} without {which}</span>'
    return _floor(run, name)


def cards(run: Run) -> str:
    """The measures of a run, large."""
    made = []
    for name, value in measures(run).items():
        measure = measure_table()[name]
        if np.isinf(value):
            shown, hint = '<b class="bad">diverged</b>', escape(measure.meaning)
        else:
            shown, hint = f"<b>{number(value)}</b>", _card_hint(run, name, value)
        made.append(
            f'<div class="card"><span class="label">{measure.html}</span>{shown}{_beside(run, name)}'
            f'<span class="hint">{hint}</span></div>'
        )
    if len(run.log["loss"]):
        made.append(
            f'<div class="card"><span class="label">loss</span><b>{number(float(run.log["loss"][-1]))}</b>'
            f'<span class="hint">squared error of training, at update {number(int(run.log["update"][-1]))}</span></div>'
        )
    return f'<div class="cards">{"".join(made)}</div>' if made else '<p class="hint">There are none yet.</p>'


def _kaplan_yorke(run: Run, found: Dict[str, Any]) -> str:
    """The Kaplan–Yorke dimension in words, with and without the latent directions that the data do not force."""
    value, left_out = found.get("kaplan_yorke"), _unforced(run) if _reduced(run) else []
    if value is None:
        return ""
    words = f"Kaplan–Yorke dimension <b>{number(float(value))}</b>."
    if left_out:
        units = f"{run.model.latent_dim} latent units for {run.model.dim} variables"
        many = len(left_out) > 1
        words += (
            f" Without {'exponents' if many else 'exponent'} {', '.join(map(str, left_out))}: "
            f"<b>{number(float(found['kaplan_yorke_reduced']))}</b>. The model has {units}, so the data leave "
            f"{run.model.latent_dim - run.model.dim} latent directions unforced. Directions there that are nearly "
            "neutral filter the observed part slowly: they raise the dimension of the model and are no part of the "
            "system."
        )
    return f"<p>{words}</p>"


def lyapunov(run: Run) -> str:
    """All exponents with their standard errors, and what follows from them."""
    found = (run.metrics or {}).get("lyapunov")
    if not found or found.get("diverged_step"):
        return ""
    per_time, left_out = found.get("exponents_per_time"), _unforced(run)
    head = '<th class="n">number</th><th class="n">per step</th><th class="n">standard error</th>'
    head += '<th class="n">per unit of time</th>' if per_time else ""
    body = ""
    for i, value in enumerate(found["exponents"]):
        shown = "−∞" if value is None else number(float(value))
        cells = f'<td class="n">{i + 1}</td><td class="n">{shown}</td>'
        cells += f'<td class="n">{number(found["standard_error"][i])}</td>'
        if per_time:
            cells += f'<td class="n">{"−∞" if per_time[i] is None else number(float(per_time[i]))}</td>'
        cells += f"<td>{'not forced' if i + 1 in left_out else ''}</td>"
        body += f"<tr>{cells}</tr>"
    head = f"<thead><tr>{head}<th></th></tr></thead>"
    table = f'<div class="scroll tall"><table>{head}<tbody>{body}</tbody></table></div>'
    if len(found["exponents"]) > 12:
        table = f"<details><summary>All {len(found['exponents'])} exponents</summary>{table}</details>"
    return _kaplan_yorke(run, found) + table


#: Figures of one run, in their order: (id, heading, caption). A caption with an id is written by page.js.
FIGURES = (
    (
        "attractor",
        "Attractor",
        "Drag to turn, scroll to zoom; with the keyboard: arrows, + and −. Orbits that are too long to draw are shown "
        "in pieces from their beginning to their end.",
    ),
    (
        "series",
        "Time series",
        "Drag over an interval to zoom in, double click to zoom out. A chaotic free run leaves the true orbit after a "
        "while; it should then still look like it. <span class=\"some\"></span>",
    ),
    ("heat", "All variables over time", "In standard deviations of the data."),
    ("horizon", "Error against horizon", '<span id="horizon-caption"></span>'),
    (
        "marginals",
        "Marginals",
        "Share of rows in each of 40 bins, over all rows of the data and of the free run. A free run that stays in a "
        "few bins is cut off.",
    ),
    ("autocorrelation", "Autocorrelation", "Over all rows of the data and of the free run."),
    ("correlations", "Correlations between variables", "Of the data, of the free run, and their difference."),
    (
        "spectra",
        "Power spectra",
        "Smoothed and normalised, as the Hellinger distance D<sub>H</sub> compares them. <span class=\"some\"></span>",
    ),
    ("lyapunov", "Lyapunov exponents", "Of the model, with standard errors from ten parts of its run."),
)
PAIR = (
    ("training", "Training", "Loss and learning rate over the updates."),
    ("convergence", "The parallel solver", '<span id="solver"></span>'),
)
TOOLS = {
    "attractor": '<span class="choices" id="axes"></span>',
    "series": '<span class="choices"><button type="button" id="series-short" aria-pressed="true">beginning</button>'
    '<button type="button" id="series-whole" aria-pressed="false">whole run</button></span>',
}


def _figure(name: str, heading: str, caption: str, below: str = "") -> str:
    """A figure with buttons to save it; hidden until page.js has drawn it, because it may have nothing to show."""
    saves = "".join(
        f'<button type="button" class="save" data-figure="fig-{name}" data-format="{form}" '
        f'aria-label="save {escape(heading)} as {form.upper()}">{form.upper()}</button>'
        for form in ("svg", "png", "csv")
    )
    tools = f'<div class="tools">{TOOLS.get(name, "")}<span class="saves">save {saves}</span></div>'
    return (
        f'<section class="figure" hidden><div class="head"><h2>{heading}</h2>{tools}</div><figure>'
        f'<div class="drawing" id="fig-{name}" role="img" aria-label="{escape(heading)}"></div>'
        f"<figcaption>{caption}</figcaption></figure>{below}</section>"
    )


def parts(run: Run) -> Dict[str, str]:
    """What is written about one run, by the place where it stands."""
    return {
        "verdict": verdict(run),
        "cards": cards(run),
        "lyapunov": lyapunov(run),
        "settings": settings(run),
        "provenance": rows(provenance(run)),
    }


def _part(name: str, made: Dict[str, str]) -> str:
    return f'<div data-part="{name}">{made[name]}</div>'


def details(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    """All about one run; with several, a list to choose it from. It begins with the run to show first."""
    made = parts(runs[content["best"]])
    options = "".join(
        f'<option value="{i}"{" selected" if i == content["best"] else ""}>{escape(run["name"])}</option>'
        for i, run in enumerate(content["runs"])
    )
    bar = (
        f'<div class="bar"><label for="picker">Run</label><select id="picker">{options}</select></div>'
        if len(runs) > 1
        else ""
    )
    figures = [_figure(*row, below=_part("lyapunov", made) if row[0] == "lyapunov" else "") for row in FIGURES]
    return "\n".join(
        [
            f'<div id="details">{bar}</div>',
            _part("verdict", made),
            '<p class="note" id="run-note" hidden></p>',
            "<section><h2>Measures</h2>",
            _part("cards", made),
            '<p class="hint">A floor is the same measure between parts of the data: a right model is at its floor or '
            "below it. Beside forecasts stands the better of two naive ones, the last row or the mean repeated.</p>"
            "</section>",
            *figures,
            '<div class="pair">' + "".join(_figure(*row) for row in PAIR) + "</div>",
            '<section id="absent" hidden><h2>Not shown</h2><ul class="hint"></ul></section>',
            '<div class="pair"><section><h2>Settings that were changed</h2>',
            _part("settings", made),
            "</section><section><h2>Provenance</h2>",
            _part("provenance", made),
            "</section></div>",
        ]
    )


def _measured(runs: Sequence[Run]) -> List[str]:
    return [name for name in measure_table() if any(name in measures(run) for run in runs)]


def _common_floors(runs: Sequence[Run]) -> Dict[str, float]:
    """Floors of the measures, where all evaluated runs have the same ones: those of the same data."""
    known = [(run.metrics or {}).get("floors") for run in runs if run.metrics]
    floors = known[0] if known and all(found == known[0] for found in known) else None
    return {name: floors[name] for name in measure_table() if floors and floors.get(name) is not None}


def runs_table(runs: Sequence[Run]) -> str:
    """Every run; click a heading to sort, a row to see the run below."""
    settings_, names = varying(runs), _measured(runs)
    judged = ["verdict"] if any(_verdict_kind(run) for run in runs) else []
    titles = ["run", *judged, *[f"<code>{escape(name)}</code>" for name in settings_]]
    head = "".join(f'<th class="sort"><button type="button">{title}</button></th>' for title in titles)
    head += "".join(
        f'<th class="sort n"><button type="button">{title}</button></th>'
        for title in [*[measure_table()[name].html for name in names], "loss", "iterations", "seconds"]
    )
    body = []
    for i, run in enumerate(runs):
        found = measures(run)
        cells = [f'<td><button type="button">{escape("/".join(run.path.resolve().parts[-2:]))}</button></td>']
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
        '<p class="hint">Choose a heading to sort by it, a row to see that run below.</p>'
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
    floors = _common_floors(runs)
    if any(name in floors for name in names):
        cells = f'<td colspan="{len(settings_ or ["name"]) + 2}">floor, or the better naive forecast</td>'
        cells += "".join(f'<td class="n">{number(floors.get(name))}</td>' for name in names)
        body.append(f'<tr class="floors">{cells}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def verdicts(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    """How many runs have which verdict, and that of the run to show first."""
    counts: Dict[str, int] = {}
    for run in runs:
        kind = "diverged" if run.diverged is not None else _verdict_kind(run) or "not judged"
        counts[kind] = counts.get(kind, 0) + 1
    words = ", ".join(f"{count} {escape(kind.replace('_', ' '))}" for kind, count in counts.items())
    first = runs[content["best"]]
    return (
        f"<p>{len(runs)} runs: {words}. The best by its measures is "
        f"<b>{escape(content['runs'][content['best']]['name'])}</b>:</p>{verdict(first)}"
    )


def many_runs(runs: Sequence[Run], content: Dict[str, Any]) -> str:
    differ = ", ".join(name for name in varying(runs) if name != "seed")
    shown = f" The first 96 of {len(runs)}." if len(runs) > 96 else ""
    attractors = (
        ""
        if not content["truths"]
        else (
            '<section><h2>All attractors</h2><div class="thumbs" id="thumbs"></div>'
            '<p class="hint">Every row of the data (blue) and of the free run (orange); below each stands '
            f"{escape(differ) or 'its folder'}.{shown} Choose one to see it below.</p></section>"
        )
    )
    return "\n".join(
        [
            verdicts(runs, content),
            "<section><h2>Median ± MAD over runs</h2>",
            statistics_table(runs),
            '<p class="hint">A run that diverged counts as infinite and is never dropped.</p></section>',
            "<section><h2>All runs</h2>",
            runs_table(runs),
            "</section>",
            attractors,
            _figure(
                "strips",
                "Runs side by side",
                "Every run is a point, and a cross a run that diverged. A dashed line is the floor, or the better "
                "naive forecast. Click a point to see that run below.",
            ),
            _figure("losses", "Loss of all runs", "Coloured by the settings in which the runs differ."),
            details(runs, content),
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
    text = {name: (HERE / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)}
    single = len(runs) == 1
    for run, found in zip(runs, content["runs"]):
        found["provenance"] = {unescape(name): unescape(value) for name, value in provenance(run)}
        if not single:
            found["parts"] = parts(run)
    return Template(text["page.html"]).substitute(
        title=escape(title),
        kind="Antler: a run" if single else "Antler: several runs",
        lead=_lead(runs, content),
        generator=escape(build_info()),
        style=text["page.css"],
        script="\n".join(text[name] for name in SCRIPTS),
        body=details(runs, content) if single else many_runs(runs, content),
        payload=packed(json.dumps(content, separators=(",", ":"), allow_nan=False)),
        plotly=packed(plotly),
    )
