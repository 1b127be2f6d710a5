#!/usr/bin/env python3
"""check_docs.py [--root DIR] [--only RULE]... [--counts] - compares what pages and comments say with the tree.

Each fault is one line, file:line: rule: what is wrong.  Each rule ends with its count.  The exit code is 1 when there
are faults.  --only runs a rule alone and may be repeated.  --counts prints numbers that show progress; it never fails.

sections   "spec 3", "spec 1, 5", "spec 2 and 3" or "SPEC section 8" in a comment or page: docs/spec.md must have the
           heading "## 3 ...".
files      A source file, script or page named in a comment, a page below docs/ or src/, README.md or CONTRIBUTING.md
           must exist: `scan.c`, `src/solve/scan.c`, `kernels/update_kernels.cuh`, `scripts/build.sh`, `gpu.md`.  A
           pattern such as `*_tmpl.c` must match a file.  Words in capitals (`NAME.cu`, `run_FILE.h`) stand for others.
defaults   docs/settings.md has one row per setting, with its default.  On other pages a default is checked when it is
           written in one of two forms: `kappa` (default 0.9995), or `teacher: flow` (the default).  Other numbers
           that pages repeat from the code are in FACTS below, one entry each.
lines      A line of prose in a page below docs/ or src/, README.md, CONTRIBUTING.md or CHANGELOG.md has at most 120
           characters.  Tables, code blocks and lines without a space are exempt.
functions  A function named `name()` in docs/walk.md is defined or declared in src; in a row of a table, and where the
           page says "`name()` in `file.c`", in the file that is named there.
heads      A source file begins with a comment that says what it is.  Where that comment begins with a file name
           ("scan.c - ..."), it is the file's own.

docs/notebook/ holds dated history: sections, files and defaults are not checked there.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import io
import os
import posixpath
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Pattern, Sequence, Set, Tuple

LINE_MAX = 120
FUNCTION_MAX = 60
TITLE_MAX = 72
TITLES = 100
OWN = "scripts/check_docs.py"
WRITTEN = {"python/antler/_parameters.py"}  # by scripts/parameters.py
SOURCE_FOLDERS = ("src", "include", "tests", "python", "scripts", "bench", "examples", "cmake")
COMMENTED_FOLDERS = SOURCE_FOLDERS + ("experiments", "docs")
HISTORY = "docs/notebook/"

C_LIKE = (".c", ".h", ".cu", ".cuh", ".cpp", ".js", ".css")
HASH_LIKE = (".sh", ".cmake", ".yaml", ".yml")
SKIPPED_FOLDERS = {"build", "Results", "__pycache__", "dist"}

# Names that are no files of the tree: made by the build, or of other projects.
GENERATED = {"cli.md", "c_api.md", "changelog.md", "version.h"}
GENERATED_FOLDERS = ("build/", "generated/", "gpu-tests/")
FOREIGN = {"cuda.h", "nvrtc.h", "mpi.h", "cuda_fp16.h", "furo.js", "plotly.js"}

RETIRED = {
    "shadow": "shadows shadowed shadowing",
    "clerk": "clerks",
    "crowd": "crowds crowded",
    "hire": "hires hired hiring",
    "seat": "seats",
    "trail": "trails",
    "crew": "crews",
    "relay": "relays relayed",
    "chunk": "chunks chunked",
    "fate": "fates",
    "founded": "",
    "walker": "walkers",
    "oracle": "oracles",
}


class Fault(NamedTuple):
    path: str
    line: int
    rule: str
    text: str


class Block(NamedTuple):
    """Some text of a file without its comment signs: lines from `line` on."""

    line: int
    text: str

    def line_at(self, offset: int) -> int:
        return self.line + self.text.count("\n", 0, offset)


class Fact(NamedTuple):
    """Numbers that a page repeats from the code: the groups of both patterns must be equal, one by one."""

    page: str
    said: str
    sources: str  # a pattern of paths
    coded: str


NUMBER = r"([0-9][0-9.e+-]*)"
FACTS = (
    Fact(
        "docs/spec.md",
        r"`deer`, `quasi-deer`, CPU and GPU \|[^|]*\| " + NUMBER + r" \| " + NUMBER,
        "src/solve/*.c",
        r"tolerance = sizeof\(real\) == sizeof\(float\) \? " + NUMBER + " : " + NUMBER,
    ),
    Fact(
        "docs/spec.md",
        r"`deer`, `quasi-deer`, CPU and GPU \|[^|]*\| " + NUMBER + r" \| " + NUMBER,
        "src/engine/cuda/deer*.c",
        r"tolerance > 0\.0 \? [^:;]*: single\s*\? " + NUMBER + r"\s*: " + NUMBER,
    ),
    Fact(
        "docs/spec.md",
        r"`shooting`, GPU \|[^|]*\| " + NUMBER + r" \| " + NUMBER,
        "src/engine/cuda/shplrnn*.c",
        r"tolerance > 0\.0 \? [^:;]*: single\s*\? " + NUMBER + r"\s*: " + NUMBER,
    ),
    Fact(
        "docs/settings.md",
        r"`tolerance`.* 0: " + NUMBER + " in float(?:,| and) " + NUMBER + " in double",
        "src/solve/*.c",
        r"tolerance = sizeof\(real\) == sizeof\(float\) \? " + NUMBER + " : " + NUMBER,
    ),
    Fact("docs/spec.md", r"1\.645 N² k² / " + NUMBER, "src/measure/white.c", r"CHANCE = " + NUMBER),
    Fact("docs/spec.md", r"2 ln\(3 N / " + NUMBER, "src/measure/white.c", r"CHANCE = " + NUMBER),
)


# ---- the tree -----------------------------------------------------------------------------------------------------


class Tree:
    """The files of the project by their paths, with / between folders."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = sorted(_list_files(root))
        self.known = set(self.paths)
        self.names = {posixpath.basename(path) for path in self.paths}
        self._texts: Dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def below(self, folders: Sequence[str]) -> List[str]:
        return [path for path in self.paths if path.split("/", 1)[0] in folders and "/" in path]

    def pages(self, history: bool, changelog: bool) -> List[str]:
        top = ["README.md", "CONTRIBUTING.md"] + (["CHANGELOG.md"] if changelog else [])
        below = [path for path in self.paths if path.startswith(("docs/", "src/")) and path.endswith(".md")]
        return [p for p in top if p in self.known] + [p for p in below if history or not p.startswith(HISTORY)]


def _list_files(root: Path) -> Iterator[str]:
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"]
        listed = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        yield from (path for path in listed.splitlines() if (root / path).is_file())
        return
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith(".git")]
        for name in files:
            yield (Path(folder) / name).relative_to(root).as_posix()


def _language(path: str) -> str:
    """c, python, hash, or nothing; NAME.c.in is as NAME.c."""
    name = posixpath.basename(path)
    if name.endswith(".in"):
        name = name[: -len(".in")]
    if name.endswith(C_LIKE):
        return "c"
    if name.endswith(".py"):
        return "python"
    return "hash" if name.endswith(HASH_LIKE) or name in ("CMakeLists.txt", "Makefile") else ""


# ---- comments -----------------------------------------------------------------------------------------------------

_C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def _bare(text: str) -> str:
    """Comment lines without the signs at their beginnings and ends."""
    lines = (re.sub(r"^\s*(?:/\*+|\*+/|//+|\*(?=\s|$)|#+)?\s?", "", line) for line in text.split("\n"))
    return "\n".join(re.sub(r"\s*\*/\s*$", "", line) for line in lines)


def _merge(lines: Dict[int, str]) -> List[Block]:
    """One block for neighbouring lines."""
    blocks: List[Block] = []
    for number in sorted(lines):
        if blocks and blocks[-1].line + blocks[-1].text.count("\n") + 1 == number:
            blocks[-1] = Block(blocks[-1].line, blocks[-1].text + "\n" + lines[number])
        else:
            blocks.append(Block(number, lines[number]))
    return blocks


def _c_comments(text: str) -> List[Block]:
    single: Dict[int, str] = {}
    blocks: List[Block] = []
    for match in _C_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group().startswith("//"):
            single[line] = _bare(match.group())
        elif match.group().startswith("/*"):
            blocks.append(Block(line, _bare(match.group())))
    return sorted(blocks + _merge(single))


def _python_comments(text: str) -> List[Block]:
    single: Dict[int, str] = {}
    blocks: List[Block] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                single[token.start[0]] = _bare(token.string)
        for node in ast.walk(ast.parse(text)):
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                blocks.append(Block(value.lineno, value.value))
    except (SyntaxError, tokenize.TokenError):
        return [Block(1, text)]
    return sorted(blocks + _merge(single))


def _hash_comments(text: str) -> List[Block]:
    lines = enumerate(text.split("\n"), 1)
    found = {number: re.search(r"(?:^|\s)#(?!!)(.*)", line) for number, line in lines}
    return _merge({number: match.group(1).strip() for number, match in found.items() if match})


def comments(path: str, text: str) -> List[Block]:
    readers: Dict[str, Callable[[str], List[Block]]] = {
        "c": _c_comments,
        "python": _python_comments,
        "hash": _hash_comments,
    }
    return readers[_language(path)](text) if _language(path) else []


def _claims(tree: Tree, changelog: bool) -> Iterator[Tuple[str, Block]]:
    """Every text that may cite a section or name a file."""
    for path in tree.below(COMMENTED_FOLDERS):
        if not path.startswith(HISTORY):
            for block in comments(path, tree.text(path)):
                yield path, block
    for path in tree.pages(history=False, changelog=changelog):
        yield path, Block(1, tree.text(path))


# ---- the rules ----------------------------------------------------------------------------------------------------

_CITATION = re.compile(
    r"\b(?:spec|SPEC|Spec)\s+(?:sections?\s+|§\s*)?(\d+(?:\.\d+)*)((?:(?:\s*,\s*|\s+(?:and|to)\s+)\d{1,2}(?![\w.]\w|\w))*)"
)


def check_sections(tree: Tree) -> Iterator[Fault]:
    """Cited sections exist."""
    spec = tree.text("docs/spec.md") if "docs/spec.md" in tree.known else ""
    sections = set(re.findall(r"^#{2,4} (\d+(?:\.\d+)*)\s", spec, re.MULTILINE))
    for path, block in _claims(tree, changelog=True):
        for match in _CITATION.finditer(block.text):
            for number in [match.group(1)] + re.findall(r"\d+", match.group(2)):
                if number not in sections:
                    line = block.line_at(match.start())
                    yield Fault(path, line, "sections", f"cites spec {number}, which docs/spec.md does not have")


_FILE_NAME = re.compile(
    r"(?<![\w/.*<>$~{}-])((?:\.\./)*(?:[\w*.-]+/)*[\w*-]*\w\*?\.(?:c|h|cu|cuh|cpp|py|sh|md|js|cmake))(?![\w*/]|\.\w|\()"
)


def _exists(tree: Tree, page: str, name: str) -> bool:
    if "*" in name:
        return any(fnmatch.fnmatch(path, name) or fnmatch.fnmatch(path, "*/" + name) for path in tree.paths)
    if "/" not in name:
        return name in tree.names or _is_written_by(tree, page, name)
    if name.endswith(".md") and _exists(tree, page, name[: -len("md")] + "ipynb"):
        return True  # a notebook becomes a page of the site
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
    return beside in tree.known or name in tree.known or any(path.endswith("/" + name) for path in tree.paths)


def _is_written_by(tree: Tree, path: str, name: str) -> bool:
    """Whether a script writes a file of that name itself."""
    return path.endswith(".sh") and re.search(r">\s*" + re.escape(name) + r"\b", tree.text(path)) is not None


def _is_placeholder(name: str) -> bool:
    """Whether a name stands for others (NAME.cu, run_FILE.h, OUT/run.sh, x.c) or for what is not of the tree."""
    first, last = name.split("/")[0], posixpath.basename(name)
    stem = last.split(".")[0]
    known = last in GENERATED | FOREIGN or name.startswith(GENERATED_FOLDERS)
    capitals = any(len(part) > 1 and part.isupper() for part in stem.split("_"))
    return known or capitals or first.isupper() or len(stem) == 1


def check_files(tree: Tree) -> Iterator[Fault]:
    """Named files exist."""
    for path, block in _claims(tree, changelog=False):
        for match in _FILE_NAME.finditer(block.text):
            name = match.group(1)
            if not _is_placeholder(name) and not _exists(tree, path, name):
                yield Fault(path, block.line_at(match.start()), "files", f"names {name}, which does not exist")


def settings(tree: Tree) -> Dict[str, str]:
    """Defaults by the names of settings, as src/train/settings_table.c has them."""
    path = "src/train/settings_table.c"
    text = tree.text(path) if path in tree.known else ""
    found: Dict[str, str] = {}
    for pattern in (
        r'\b(?:COUNT|REAL|BOOL|TEXT)\(\s*"\w+",\s*(\w+),\s*"([^"]*)"',
        r'\bCHOICE\(\s*"\w+",\s*(\w+),\s*\w+,\s*"([^"]*)"',
        r'\{\{"(\w+)",\s*"\w+",\s*"[^"]*",\s*\w+,\s*"([^"]*)"',
    ):
        found.update(re.findall(pattern, text))
    return found


def _same(one: str, other: str) -> bool:
    try:
        return float(one.replace(",", "")) == float(other.replace(",", ""))
    except ValueError:
        return one == other


_QUOTED = re.compile(r"`(\w+)` \(default `?([^`)\s]+)`?[),;]|`(\w+): ([^`]+)`,? \((?:the )?default\)")


def _check_settings_page(tree: Tree, table: Dict[str, str]) -> Iterator[Fault]:
    page, rows = "docs/settings.md", {}
    for number, line in enumerate(tree.text(page).split("\n") if page in tree.known else [], 1):
        row = re.match(r"\| `(\w+)` \| (?:`([^`]*)`)? ?\|", line)
        if row:
            rows[row.group(1)] = number
            default = row.group(2) or ""
            if row.group(1) not in table:
                yield Fault(page, number, "defaults", f"there is no setting {row.group(1)}")
            elif table[row.group(1)] != default:
                yield Fault(page, number, "defaults", f"{row.group(1)}: {default}, but it is {table[row.group(1)]}")
    for name in table:
        if name not in rows:
            yield Fault(page, 1, "defaults", f"has no row for the setting {name}")


def _check_fact(tree: Tree, fact: Fact) -> Iterator[Fault]:
    if fact.page not in tree.known:
        return
    text = tree.text(fact.page)
    said = re.search(fact.said, text)
    if said is None:
        yield Fault(fact.page, 1, "defaults", f"does not say /{fact.said}/ (FACTS of scripts/check_docs.py)")
        return
    line = Block(1, text).line_at(said.start())
    sources = fnmatch.filter(tree.paths, fact.sources)
    coded = [match.groups() for path in sources for match in re.finditer(fact.coded, tree.text(path))]
    if not coded:
        yield Fault(fact.page, line, "defaults", f"/{fact.coded}/ is not in {fact.sources} any more: adapt FACTS")
    for values in coded:
        if not all(_same(a, b) for a, b in zip(said.groups(), values)):
            yield Fault(fact.page, line, "defaults", f"says {said.groups()}, the code has {values}")


def check_defaults(tree: Tree) -> Iterator[Fault]:
    """Quoted defaults are true."""
    table = settings(tree)
    if not table:
        yield Fault("src/train/settings_table.c", 1, "defaults", "no settings were found in it")
        return
    yield from _check_settings_page(tree, table)
    for path in tree.pages(history=False, changelog=False):
        block = Block(1, tree.text(path))
        for match in _QUOTED.finditer(block.text):
            name, value = match.group(1) or match.group(3), match.group(2) or match.group(4)
            if name in table and not _same(value, table[name]):
                line = block.line_at(match.start())
                yield Fault(path, line, "defaults", f"{name}: {value}, but the default is {table[name]}")
            elif name not in table and match.group(3):
                yield Fault(path, block.line_at(match.start()), "defaults", f"there is no setting {name}")
    for fact in FACTS:
        yield from _check_fact(tree, fact)


def _prose(text: str) -> Iterator[Tuple[int, str]]:
    """Lines that are neither in a table nor in a block of code."""
    fence: Optional[str] = None
    listed = code = False
    blank = True
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = None if fence else mark.group(1)
            continue
        if fence is not None:
            continue
        if not line.strip():
            blank = True
            continue
        indented = line.startswith("    ")
        code = indented and not listed and (blank or code)
        if not indented and not line.startswith(" "):
            listed = re.match(r"(?:[-*+]|\d+\.)\s", line) is not None or (listed and not blank)
        blank = False
        if not code and not line.lstrip().startswith("|"):
            yield number, line


def check_lines(tree: Tree) -> Iterator[Fault]:
    """Lines of prose are short."""
    for path in tree.pages(history=True, changelog=True):
        for number, line in _prose(tree.text(path)):
            if len(line) > LINE_MAX and " " in line.strip():
                yield Fault(path, number, "lines", f"has {len(line)} characters")


_FUNCTION = re.compile(r"`(\w+)\(\)`(?:\s+in\s+`([^`]+)`)?")


def _defines(text: str, name: str) -> bool:
    """Whether a line of C in the first column defines or declares a function, perhaps as ANT_FN(name)."""
    return re.search(r"^\w[^\n;={]*\b" + name + r"\)?\(", text, re.MULTILINE) is not None


def check_functions(tree: Tree) -> Iterator[Fault]:
    """Functions of docs/walk.md are where it says."""
    page = "docs/walk.md"
    block = Block(1, tree.text(page) if page in tree.known else "")
    sources = [path for path in tree.below(["src"]) if _language(path) == "c"]
    lines = block.text.split("\n")
    for match in _FUNCTION.finditer(block.text):
        line = block.line_at(match.start())
        row = lines[line - 1] if lines[line - 1].startswith("|") else match.group(2) or ""
        files = [found.group(1) for found in _FILE_NAME.finditer(row)]
        places = [path for path in sources if not files or any(("/" + path).endswith("/" + name) for name in files)]
        if not any(_defines(tree.text(path), match.group(1)) for path in places):
            yield Fault(page, line, "functions", f"{match.group(1)}() is not in {' or '.join(files) or 'src'}")


_BEGINNINGS = {"c": ("/*", "//"), "python": ("#", '"', "'", 'r"'), "hash": ("#",)}


def _head(path: str, text: str) -> Optional[str]:
    """The first comment of a file when nothing stands before it."""
    start = re.sub(r"^#![^\n]*\n", "", text).lstrip()
    blocks = comments(path, text)
    return blocks[0].text.strip() or None if blocks and start.startswith(_BEGINNINGS[_language(path)]) else None


def check_heads(tree: Tree) -> Iterator[Fault]:
    """Source files say what they are."""
    for path in tree.below(SOURCE_FOLDERS):
        text = tree.text(path)
        if not _language(path) or path.endswith((".yaml", ".yml")) or not text.strip():
            continue
        head = _head(path, text)
        if head is None:
            yield Fault(path, 1, "heads", "has no head comment")
            continue
        own = posixpath.basename(path)
        named = re.match(r"\s*([\w.-]+\.\w+)\b[^\n]{0,60}? - ", head)
        if named and named.group(1) != own and named.group(1) + ".in" != own and _FILE_NAME.match(named.group(1)):
            yield Fault(path, 1, "heads", f"calls itself {named.group(1)}")


RULES: Dict[str, Callable[[Tree], Iterator[Fault]]] = {
    "sections": check_sections,
    "files": check_files,
    "defaults": check_defaults,
    "lines": check_lines,
    "functions": check_functions,
    "heads": check_heads,
}


# ---- counts -------------------------------------------------------------------------------------------------------


def long_functions(text: str) -> Iterator[Tuple[int, int]]:
    """(first line, lines) of functions over FUNCTION_MAX, by braces at the beginning of a line."""
    lines = _C_TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text).split("\n")
    opened: Optional[int] = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            opened = number
            while opened > 1 and re.match(r"[^#};\s]|\s+\S", lines[opened - 2]):
                opened -= 1
        elif line.startswith("}") and opened is not None:
            if number - opened + 1 > FUNCTION_MAX:
                yield opened, number - opened + 1
            opened = None


def _count_retired(tree: Tree) -> Dict[str, Tuple[int, Set[str]]]:
    """Occurrences of each retired word, alone or as a part of an identifier, and the files that have it."""
    forms = {form: word for word, others in RETIRED.items() for form in [word] + others.split()}
    found: Dict[str, Tuple[int, Set[str]]] = {word: (0, set()) for word in RETIRED}
    parts: Pattern[str] = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
    sources = [path for path in tree.below(["src"]) if _language(path)]
    for path in sources + tree.pages(history=False, changelog=False):
        if path in ("docs/glossary.md", "CONTRIBUTING.md"):  # which say what to write in their place
            continue
        for part in parts.findall(tree.text(path)):
            word = forms.get(part.lower())
            if word:
                found[word] = (found[word][0] + 1, found[word][1] | {path})
    return found


def long_python_functions(text: str) -> Iterator[Tuple[int, int]]:
    """(first line, lines) of functions over FUNCTION_MAX."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        size = (node.end_lineno or 0) - node.lineno + 1 if isinstance(node, kinds) else 0
        if size > FUNCTION_MAX:
            yield node.lineno, size


def _count_long_functions(tree: Tree) -> None:
    """Print them, but for the file that scripts/parameters.py writes."""
    code = [path for path in tree.paths if _language(path) in ("c", "python")]
    functions = []
    for path in code:
        found = long_functions if _language(path) == "c" else long_python_functions
        functions += [(path, at, size) for at, size in found(tree.text(path)) if path not in WRITTEN]
    print(f"functions over {FUNCTION_MAX} lines: {len(functions)}")
    for path, at, size in functions:
        print(f"  {path}:{at}: {size} lines")


def _count_long_titles(tree: Tree) -> None:
    command = ["git", "-C", str(tree.root), "log", "--format=%h %s", f"-{TITLES}"]
    quiet = subprocess.DEVNULL  # of a tree without git
    listed = subprocess.run(command, stdout=subprocess.PIPE, stderr=quiet, universal_newlines=True).stdout.splitlines()
    titles = [line.partition(" ") for line in listed]
    long = [title for title in titles if len(title[2]) > TITLE_MAX]
    print(f"titles over {TITLE_MAX} characters of the last {TITLES} commits: {len(long)}")


def print_counts(tree: Tree) -> None:
    names: Dict[str, List[str]] = {}
    for path in tree.below(["src"]):
        names.setdefault(posixpath.basename(path), []).append(path)
    twice = {name: paths for name, paths in names.items() if len(paths) > 1 and name != "CMakeLists.txt"}
    _count_long_functions(tree)
    _count_long_titles(tree)
    print(f"prose lines over {LINE_MAX}: {len(list(check_lines(tree)))}")
    print(f"files without a head comment: {sum('no head' in fault.text for fault in check_heads(tree))}")
    print(f"duplicated file names in src: {len(twice)}")
    for name, paths in sorted(twice.items()):
        print(f"  {name}: {' '.join(paths)}")
    claims = [block.text for path, block in _claims(tree, changelog=True) if path != OWN]
    old = sum(len(re.findall(r"\bSPEC\s+(?:section\s+)?\d", text)) for text in claims)
    print(f'citations that say "SPEC n" in place of "spec n": {old}')
    retired = _count_retired(tree)
    print(f"retired words in src and docs: {sum(count for count, _ in retired.values())}")
    for word, (count, paths_of) in retired.items():
        print(f"  {word}: {count} in {len(paths_of)} files")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Compare what pages and comments claim with the tree.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the tree")
    parser.add_argument("--only", action="append", choices=sorted(RULES), help="run this rule alone; may be repeated")
    parser.add_argument("--counts", action="store_true", help="print numbers to follow progress by, and exit with 0")
    chosen = parser.parse_args(arguments)
    tree = Tree(chosen.root)
    if chosen.counts:
        print_counts(tree)
        return 0
    total = 0
    for rule in chosen.only or RULES:
        faults = sorted(set(RULES[rule](tree)))
        for fault in faults:
            print(f"{fault.path}:{fault.line}: {fault.rule}: {fault.text}")
        print(f"{rule}: {len(faults)}")
        total += len(faults)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
