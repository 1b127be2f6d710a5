"""page.py - the page of all figures, as Markdown and as HTML, from what the folder of results has."""

from __future__ import annotations

import html
import json
import re
import textwrap
from pathlib import Path
from typing import Dict, List, Sequence

from sections import Claim, Section, Table, View, median
from tasks import Context, Json, Task, write

WORDS = {True: "supported", False: "contradicted", None: "open"}
STYLE = """body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px } td, th { border: 1px solid #bbb; padding: 2px 8px;
text-align: left } img { max-width: 100% } .supported { color: #006d2c } .contradicted { color: #b30000 }
.open { color: #777 } figcaption, caption { font-size: 13px; color: #555; text-align: left }"""


def results_of(c: Context, name: str, tasks: Sequence[Task]) -> List[Json]:
    """Results of a figure; those that it shares with another one count there."""
    own = (task for task in tasks if task.figure == name)
    found = (c.store.find(task, number) for task in own for number in task.numbers())
    return [result for result in found if result is not None]


def planned(name: str, tasks: Sequence[Task]) -> int:
    return sum(task.runs for task in tasks if task.figure == name)


def spent(results: Sequence[Json]) -> float:
    return float(sum(result["seconds"] / result["runs_together"] for result in results))


def heading(c: Context, plans: Dict[str, List[Task]]) -> List[str]:
    """What the results are, and what is missing."""
    found = [result for name, tasks in plans.items() for result in results_of(c, name, tasks)]
    total = sum(planned(name, tasks) for name, tasks in plans.items())
    commits = sorted({str(result["commit"]) for result in found})
    dates = sorted({str(result["date"]) for result in found})
    lines = [
        f"Machine: {c.machine}. Scale: {c.scale}. Seed {c.seed}. {len(found)} of {total} results, made by Antler "
        f"{', '.join(commits) or 'nothing yet'} from {dates[0] if dates else '-'} to {dates[-1] if dates else '-'} in "
        f"{spent(found) / 3600:.2f} hours.",
        "Values are medians ± MAD over runs. A run has diverged when its training did, or when its "
        "free run is not finite "
        "or leaves the range of the data by five half ranges; it counts as infinite and is drawn as a red cross.",
    ]
    if len(found) < total:
        lines.append(
            "**Incomplete.** Each point says how many runs it has. A statement stays open until each of its points has "
            "five runs."
        )
    if c.scale != "full":
        lines.append(
            f"**This is the {c.scale} scale**: short orbits, few updates and few runs, to test the whole chain. Its "
            "numbers say nothing about the paper, and every statement stays open."
        )
    return lines


def shares(c: Context, plans: Dict[str, List[Task]]) -> Table:
    seconds = {name: spent(results_of(c, name, tasks)) for name, tasks in plans.items()}
    total = sum(seconds.values()) or 1.0
    rows = []
    for name, tasks in plans.items():
        have = f"{len(results_of(c, name, tasks))} of {planned(name, tasks)}"
        rows.append([name, have, f"{seconds[name]:.0f}", f"{100 * seconds[name] / total:.0f} %"])
    return Table("What each figure takes.", ["figure", "results", "seconds", "share"], rows)


def agreement(c: Context, plans: Dict[str, List[Task]]) -> List[Table]:
    """Medians of D_stsp per point beside those of other machines or seeds, where there are any."""
    tables = []
    others = [
        folder for folder in sorted(c.store.folder.parent.glob("*")) if folder.is_dir() and folder != c.store.folder
    ]
    for other in others:
        rows = []
        for figure in plans:
            ours = by_point(c.store.folder / figure)
            theirs = by_point(other / figure)
            for point in sorted(set(ours) & set(theirs)):
                rows.append(
                    [
                        figure,
                        point,
                        f"{median(ours[point]):.3g} ({len(ours[point])} runs)",
                        f"{median(theirs[point]):.3g} ({len(theirs[point])} runs)",
                    ]
                )
        if rows:
            tables.append(
                Table(
                    f"Medians of D_stsp or D_stsp^DE here and by {other.name}.",
                    ["figure", "point", "here", "there"],
                    rows,
                )
            )
    return tables


def by_point(folder: Path) -> Dict[str, List[float]]:
    found: Dict[str, List[float]] = {}
    for path in sorted(folder.glob("*.json")):
        result: Json = json.loads(path.read_text())
        if "dstsp" in result["measures"]:
            found.setdefault(result["point"], []).append(float(result["measures"]["dstsp"]))
    return found


# ---- Markdown ------------------------------------------------------------


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table_markdown(table: Table) -> List[str]:
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return [wrapped(table.caption), "", *["| " + " | ".join(row) + " |" for row in rows], ""]


def claim_markdown(claim: Claim) -> str:
    return wrapped(f"- {claim.sentence} **{WORDS[claim.holds]}**: {claim.numbers}.", "  ")


def section_markdown(section: Section) -> List[str]:
    lines = [f"## {section.title}", ""]
    for note in section.notes:
        lines += [wrapped(note), ""]
    for name, caption in section.pictures:
        lines += [f"![{section.title}]({name})", "", wrapped(caption), ""]
    for table in section.tables:
        lines += table_markdown(table)
    if section.claims:
        lines += [
            "Statements of the paper, shortened, and what these runs say about them:",
            "",
            *map(claim_markdown, section.claims),
            "",
        ]
    return lines


# ---- HTML ------------------------------------------------------------


def rich(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))


def table_html(table: Table) -> str:
    head = "".join(f"<th>{rich(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{rich(cell)}</td>" for cell in row) + "</tr>\n" for row in table.rows)
    return f"<table><caption>{rich(table.caption)}</caption>\n<tr>{head}</tr>\n{rows}</table>\n"


def section_html(section: Section) -> str:
    parts = [f"<h2>{rich(section.title)}</h2>\n", *[f"<p>{rich(note)}</p>\n" for note in section.notes]]
    for name, caption in section.pictures:
        parts.append(
            f'<figure><img src="{name}" alt="{rich(section.title)}"><figcaption>{rich(caption)}</figcaption></figure>\n'
        )
    parts += [table_html(table) for table in section.tables]
    for claim in section.claims:
        word = WORDS[claim.holds]
        parts.append(f'<p>{rich(claim.sentence)} <b class="{word}">{word}</b>: {rich(claim.numbers)}.</p>\n')
    return "".join(parts)


def write_page(c: Context, plans: Dict[str, List[Task]], modules: Sequence[object], folder: Path) -> None:
    """index.md, index.html and the pictures in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    sections: List[Section] = []
    for module in modules:
        name = str(module.NAME)  # type: ignore[attr-defined]
        sections.append(module.section(View(c, plans[name], folder)))  # type: ignore[attr-defined]
    sections.append(Section("Times and other machines", [], [], [shares(c, plans), *agreement(c, plans)]))
    intro = [
        "GTF-DEER, figure by figure, by `experiments/paper/run.sh`; docs/reproduction.md says how.",
        *heading(c, plans),
    ]
    lines = ["---", "orphan: true", "---", "", "# The paper, figure by figure", ""]
    for text in intro:
        lines += [wrapped(text), ""]
    for section in sections:
        lines += section_markdown(section)
    write(folder / "index.md", "\n".join(lines).rstrip() + "\n")
    body = "".join(f"<p>{rich(text)}</p>\n" for text in intro) + "".join(map(section_html, sections))
    write(
        folder / "index.html",
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>The paper, figure by figure</title><style>{STYLE}</style></head>\n<body>\n"
        f"<h1>The paper, figure by figure</h1>\n{body}</body></html>\n",
    )
