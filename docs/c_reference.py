"""c_reference.py HEADER - the C reference as reStructuredText, made from the comments and declarations of antler.h.

The header is regular, so a small parser is enough: a comment directly above declarations describes them, a
comment behind a declaration describes that one, a comment between blank lines is a paragraph, and a comment with a
ruler begins a section. Every function, struct, field, enumerator and macro becomes an object of Sphinx's C domain
with an anchor of its own (c.NAME).
"""

import re
import sys
import textwrap
from pathlib import Path

COMMENT = r"/\*.*?\*/"
DECLARATION = rf"(?P<text>(?:typedef|ANTLER_API)\b[^;{{]*(?:\{{.*?\}}[^;]*)?;)[ \t]*(?P<trailing>{COMMENT})?"
MACRO = r"\#define(?:[^\n]*\\\n)*[^\n]*"
ITEM = re.compile(
    rf"(?P<comment>{COMMENT})|(?P<macro>{MACRO})|(?P<skip>\#[^\n]*)|(?P<blank>\n[ \t]*\n)|{DECLARATION}", re.S
)
FIELD = re.compile(rf"(?P<comment>{COMMENT})|(?P<text>[^;,/]*?\([^;]*;|[^;/]+;)|(?P<newline>\n)", re.S)
ENUMERATOR = re.compile(rf"(?P<comment>{COMMENT})|(?P<text>\w+(?:\s*=\s*[^,\s]+)?)|(?P<newline>\n)", re.S)
EXAMPLE = re.compile(r"\s*\w+ \w+;$")  # first line of a program: a declaration
VERDICT = re.compile(r'X\((\w+), "\w+", "([^"]*)"\)')
STATUS = re.compile(r'X\((\w+), (-?\d+), "([^"]*)"\)')


def words(comment):
    """A comment without its frame. One behind a declaration has no stars and is one paragraph."""
    text = re.sub(r"^\s*/\*+ ?|\s*\*/\s*$", "", comment)
    if re.search(r"^ \*", comment, re.M):
        return textwrap.dedent(re.sub(r"^ \* ?", "", text, flags=re.M))
    return re.sub(r"\n\s*", "\n", text)


class Prose:
    """Comments as reStructuredText, with a link wherever a name of the header occurs."""

    def __init__(self, roles):
        self.roles = roles  # name -> role of the C domain

    def _inline(self, match):
        literal, name = match["literal"], match["name"]
        bare = (literal or name or "").replace("()", "")
        if bare in self.roles:
            return f":c:{self.roles[bare]}:`{bare}`"
        return f"``{literal}``" if literal else name or "\\" + match[0]

    def line(self, text):
        return re.sub(
            r"`(?P<literal>[^`]+)`|\b(?P<name>(?:antler|ANTLER)_\w+(?:\(\))?)|[*|\\]|_(?=\W|$)", self._inline, text
        )

    def lines(self, text):
        """Paragraphs and lists as they stand; what is indented otherwise becomes a literal block."""
        result, in_list, in_block = [], False, False
        for line in text.strip("\n").split("\n"):
            indented = line.startswith("  ")
            if line and not indented:
                in_list, opens_list = line.startswith("- "), line.startswith("- ") and not in_list
                result += [""] if in_block or opens_list else []
                in_block = False
            elif indented and not in_list and not in_block:
                result += ["", f".. code-block:: {'c' if EXAMPLE.match(line) else 'text'}", ""]
                in_block = True
            if in_block:
                result.append("   " + line)
            else:
                result.append(line if re.match(r"-{4,}$", line) else self.line(line))
        return result


def split_declarators(text):
    """'double mean, sd' -> 'double mean', 'double sd'."""
    if "," not in text or "(" in text:
        return [text]
    first, *others = [part.strip() for part in text.split(",")]
    base = re.match(r"(.*?)\**\w+(?:\[\w+\])?$", first)[1]
    return [first] + [base + other for other in others]


def flat(text):
    return re.sub(r"\s+", " ", text).strip().rstrip(";").replace("ANTLER_API ", "")


def parts(pattern, body):
    """Declarations inside braces: (text, comment behind it), and (None, comment) for a comment on its own line."""
    found, fresh = [], True  # fresh: nothing but white space on this line so far
    for match in pattern.finditer(body):
        if match["newline"]:
            fresh = True
        elif match["comment"] and (fresh or not found):
            found.append([None, words(match["comment"])])
        elif match["comment"]:
            found[-1][1] = words(match["comment"])
        elif match["text"].strip():
            found.append([flat(match["text"]), ""])
            fresh = False
    return found


class Page:
    def __init__(self, header):
        self.header = header
        self.roles = {}
        self.contents = []  # names of each section
        self.statuses = STATUS.findall(header)
        self.out = []

    # ---- declarations ----

    def declare(self, text):
        """(kind, name, signatures, fields) of a declaration."""
        composite = re.match(r"typedef (struct|enum) (\w+)\s*\{(.*)\}", text, re.S)
        if composite:
            kind, name, body = composite.groups()
            if name == "antler_verdict_kind":
                verdicts = VERDICT.findall(self.header)
                return "enum", name, [name], [(f"ANTLER_VERDICT_{word}", meaning) for word, meaning in verdicts]
            if name == "antler_status":
                return kind, name, [name], [[f"ANTLER_{n} = {value}", say] for n, value, say in self.statuses]
            return kind, name, [name], parts(FIELD if kind == "struct" else ENUMERATOR, body)
        opaque = re.match(r"typedef struct (\w+) \w+;", text)
        if opaque:
            return "struct", opaque[1], [opaque[1]], []
        text = re.sub(r", size_t (struct|floors|verdict)_size\b", "", flat(text))  # given by a macro of the same name
        if text.startswith("typedef "):
            return "type", re.search(r"\(\*(\w+)\)", text)[1], [text.replace("typedef ", "")], []
        return "function", re.search(r"(\w+)\(", text)[1], [text], []

    def learn(self, items):
        """The role of every name, so that comments can link forwards, and the names of every section."""
        short = {"function": "func"}
        for kind, value, _ in items:
            if kind == "comment" and value.startswith("/* ="):
                self.contents.append([])
            elif kind == "macro":
                self.roles[re.match(r"#define (\w+)", value)[1]] = "macro"
            elif kind == "declaration":
                role, name, _, fields = self.declare(value)
                self.roles[name] = short.get(role, role)
                self.contents[-1].append(name)
                if role == "enum":
                    self.roles.update({text.split(" ")[0]: "enumerator" for text, _ in fields if text})

    # ---- output ----

    def write(self, lines, depth=0):
        self.out += [("   " * depth + line).rstrip() for line in lines]

    def directive(self, kind, signatures, text, depth=0):
        head = f".. c:{kind}:: "
        self.write(["", head + signatures[0], *[" " * len(head) + more for more in signatures[1:]], ""], depth)
        if text:
            self.write(self.prose.lines(text) + [""], depth + 1)

    def composite(self, kind, name, fields, text):
        self.directive(kind, [name], text)
        for field, comment in fields:
            if field is None:
                self.write(["", *self.prose.lines(comment), ""], 1)
            elif kind == "enum":
                self.directive("enumerator", [field], comment, 1)
            else:
                self.directive("member", split_declarators(field), comment, 1)

    def group(self, comment, declarations):
        """Declarations without a blank line between them. Those without a comment behind them share the one above."""
        shared = [value for _, value, trailing in declarations if not trailing]
        if comment and not shared:
            self.write(["", *self.prose.lines(comment), ""])
        for kind, value, trailing in declarations:
            if not trailing and value != shared[0]:
                continue
            text = words(trailing) if trailing else comment
            if kind == "macro":
                macros = [value] if trailing else [v for v in shared if v.startswith("#define")]
                self.directive("macro", [re.match(r"#define (\w+(?:\([^)]*\))?)", v)[1] for v in macros], text)
                continue
            role, name, signatures, fields = self.declare(value)
            if role in ("struct", "enum"):
                self.composite(role, name, fields, text)
                others = shared[1:]
                if others and not trailing:  # declarations of another kind behind a struct
                    self.group("", [("declaration", other, "") for other in others])
            else:
                functions = [value] if trailing else shared
                self.directive(role, [s for f in functions for s in self.declare(f)[2]], text)

    def heading(self, comment):
        """A section or a subsection, where the comment has a ruler."""
        section = re.match(r"/\* =+\n \* (\d+)  (.*)\n \* =+ \*/", comment)
        part = re.match(r"/\* (.*?)\.?  -+ \*/", comment)
        if section:
            names = [f":c:{self.roles[name]}:`{name}`" for name in self.contents[int(section[1]) - 1]]
            self.write(
                [
                    "",
                    f"{section[1]} {section[2]}",
                    "=" * 40,
                    "",
                    ".. container:: names",
                    "",
                    "   " + " ".join(names),
                    "",
                ]
            )
        elif part:
            self.write(["", part[1], "-" * 40, ""])
        return bool(section or part)

    def introduction(self):
        text = words(re.match(COMMENT, self.header, re.S)[0])
        text = text[text.index("Introduction\n") :]
        self.write(["C reference", "#" * 40, ""])
        lines = self.prose.lines(text)
        self.write([line.replace("-", "=") if re.match("-{4,}$", line) else line for line in lines])

    def make(self):
        begin = self.header.index("/* ====")
        end = re.search(r"/\* =+\n \* Sizes\n", self.header).start()
        items = []
        for match in ITEM.finditer(self.header[begin:end]):
            kind = match.lastgroup if match.lastgroup in ("comment", "macro", "skip", "blank") else "declaration"
            items.append((kind, match[kind if kind != "declaration" else "text"].strip("\n"), match["trailing"] or ""))
        items = [item for item in items if not (item[0] == "macro" and re.search("ANTLER_(STATUS|VERDICT)_", item[1]))]
        self.learn(items)
        self.prose = Prose(self.roles)
        self.introduction()
        comment, declarations = "", []
        for kind, value, trailing in [*items, ("blank", "", "")]:
            if kind in ("comment", "blank"):
                if declarations:
                    self.group(comment, declarations)
                elif comment:
                    self.write(["", *self.prose.lines(comment), ""])
                comment, declarations = "", []
            if kind == "comment" and not self.heading(value):
                comment = words(value)
            elif kind in ("macro", "declaration"):
                declarations.append((kind, value, trailing))
        return "\n".join(self.out) + "\n"


def main(path):
    header = Path(path).read_text()
    page = Page(header).make()
    declared = set(re.findall(r"^ANTLER_API [^;]*?(antler_\w+)\(", header, re.M))
    shown = set(re.findall(r"(antler_\w+)\(", "\n".join(re.findall(r"^(?:\.\. c:function::|  {15}).*", page, re.M))))
    if declared - shown:
        sys.exit(f"c_reference.py: not understood in {path}: {', '.join(sorted(declared - shown))}")
    print(page, end="")


if __name__ == "__main__":
    main(sys.argv[1])
