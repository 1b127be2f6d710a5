"""theme.py FOLDER - Debian's furo as one script and one style sheet that need nothing beside them.

Debian 12 ships furo unbundled, and a site that is opened from a folder or published elsewhere has four defects:
furo.js imports the script gumshoe, though pages load it as a plain script, not as a module; furo.css imports
normalize.css from the root of a web server; and the Sass compiler lost the rule for systems that prefer dark pages and
took a selector for a property, so that on narrow pages the header hides what a link leads to.
Files of html_static_path replace those of the theme, so the mended ones are written there. A furo without these
defects is copied as it is.
"""

import re
import sys
from pathlib import Path

import furo

IMPORT_SCRIPT = re.compile(r'^import Gumshoe from "\./(gumshoe-patched\.js)";\n', re.M)
IMPORT_STYLE = re.compile(r"^@import url\(/javascript/([^)]*)\);\n", re.M)
TARGET = re.compile(r"^\s*target-(scroll-margin-top: [^;]*);", re.M)
DARK = re.compile(r'body\[data-theme="dark"\] \{([^}]*)\}')
PREFERRED = """
@media not print {{
  @media (prefers-color-scheme: dark) {{
    body:not([data-theme="light"]) {{ {colours} }}
    html body:not([data-theme="light"]) .only-light {{ display: none !important; }}
    body:not([data-theme="light"]) .only-dark {{ display: block !important; }}
  }}
}}
"""
STYLES = Path("/usr/share/javascript")


def main(folder):
    theme = Path(furo.__file__).parent / "theme" / "furo" / "static"
    script = (theme / "scripts" / "furo.js").read_text()
    style = (theme / "styles" / "furo.css").read_text()
    # gumshoe sets window.Gumshoe when it is no module; a function keeps furo's own names out of the page's.
    for imported in IMPORT_SCRIPT.findall(script):
        script = (theme / "scripts" / imported).read_text() + f"(() => {{\n{IMPORT_SCRIPT.sub('', script)}}})();\n"
    style = IMPORT_STYLE.sub(lambda match: (STYLES / match[1]).read_text() + "\n", style)
    style = TARGET.sub(r":target { \1; }", style)
    if "prefers-color-scheme" not in style:
        style += PREFERRED.format(colours=DARK.search(style)[1].strip())
    if re.search(r"^import |^@import ", script + style, re.M):
        sys.exit("theme.py: furo imports another file than those that are known here")
    for name, text in {"scripts/furo.js": script, "styles/furo.css": style}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
