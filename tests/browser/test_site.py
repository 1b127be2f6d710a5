"""The site of docs/ in headless Chromium: no error and no missing file on any page, links that lead somewhere, themes.

Run by scripts/docs.sh, with the folder of the site in $SITE. Screenshots are left in $SCREENSHOTS, to be looked at.
"""

import json
import os
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest

import antler

SITE = Path(os.environ["SITE"]).resolve()
SHOTS = Path(os.environ.get("SCREENSHOTS", SITE.parent / "screenshots"))
HEADER = Path(__file__).resolve().parents[2] / "include" / "antler" / "antler.h"
PAGES = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html") if "_static" not in page.parts)
SIZES = {"wide": (1400, 900), "narrow": (400, 800)}
LOOKS = [("wide", False), ("narrow", False), ("wide", True)]
SHOWN = {
    "home": "index.html",
    "tutorial": "tutorial_csv.html",
    "method": "method.html",
    "python": "api.html",
    "python-parameters": "api.html#antler.Reconstructor",
    "c": "c_api.html",
    "c-struct": "c_api.html#c.antler_load_opts",
}
DARKEST = 60  # of 255: mean of a dark background


class Anchors(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, page):
        super().__init__()
        self.links, self.ids, self.headings = [], set(), 0
        self.feed((SITE / page).read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key) and tag != "base"]
        self.headings += tag == "h1"


ANCHORS = {page: Anchors(page) for page in PAGES}


def resize(browser, size):
    width, height = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


def show(browser, page, size="wide", dark=False):
    resize(browser, size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    if "#" in page:
        browser.get("about:blank")  # so that a page with another fragment is loaded, too
    browser.get(SITE.as_uri() + "/" + page)
    browser.execute_script("localStorage.clear(); document.body.dataset.theme = 'auto'")


def settle(browser):
    """Wait for fonts, and for the end of smooth scrolling."""
    before, now = None, browser.execute_script("return scrollY")
    while before != now or now == 0 and "#" in browser.current_url:
        time.sleep(0.3)
        before, now = now, browser.execute_script("return scrollY")


def troubles(browser):
    """Errors of the console and files that could not be had, since the last call."""
    found = [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    for entry in browser.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.loadingFailed":
            found.append(str(event["params"]))
        elif event["method"] == "Network.responseReceived" and event["params"]["response"]["status"] >= 400:
            found.append(event["params"]["response"]["url"])
    return found


def background(browser):
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def too_wide(browser):
    """What sticks out to the right of a page, with the text at its begin."""
    return browser.execute_script(
        """
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        return [...document.querySelectorAll('article *')]
            .filter(e => e.getBoundingClientRect().right > width + 1)
            .map(e => e.tagName + ': ' + e.textContent.slice(0, 60)).slice(0, 5).concat('the page');
        """
    )


def test_there_is_a_site():
    assert len(PAGES) > 20 and {urldefrag(page)[0] for page in SHOWN.values()} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    broken = []
    for link in ANCHORS[page].links:
        target, fragment = urldefrag(link)
        if urlparse(target).scheme:
            continue
        path = (SITE / page).parent / unquote(target.split("?")[0]) if target else SITE / page
        name = os.path.relpath(path.resolve(), SITE)
        if not path.exists() or (fragment and name in ANCHORS and unquote(fragment) not in ANCHORS[name].ids):
            broken.append(link)
    assert broken == []
    assert ANCHORS[page].headings == 1 or page == "search.html" or page.startswith("_modules")


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_an_error_or_misses_a_file(browser, page):
    show(browser, page)
    assert browser.execute_script("return document.documentElement.classList.contains('no-js')") is False
    resize(browser, "narrow")
    assert too_wide(browser) == []
    assert troubles(browser) == []


SWITCHES = "return [...document.querySelectorAll('button.theme-toggle')].filter(b => b.offsetWidth > 0)"


@pytest.mark.parametrize("size", SIZES)
def test_the_theme_can_be_chosen(browser, size):
    show(browser, "index.html", size)
    assert background(browser) > 255 - DARKEST
    (switch,) = browser.execute_script(SWITCHES)
    switch.click()
    assert browser.execute_script("return document.body.dataset.theme") == "dark"
    assert background(browser) < DARKEST
    show(browser, "index.html", size, dark=True)  # as the system prefers it
    assert background(browser) < DARKEST
    assert troubles(browser) == []


def test_formulas_are_drawn(browser):
    show(browser, "method.html")
    assert browser.execute_script("return document.querySelectorAll('.katex').length") > 5
    assert browser.execute_script("return document.querySelectorAll('.katex-error').length") == 0


def test_the_python_reference_describes_every_parameter():
    text = re.sub(r"<[^>]*>", "", (SITE / "api.html").read_text())
    for name in antler.Reconstructor().get_params():
        assert re.search(rf"\b{name} \(.*default .*\) – [A-Z]", text), name
    examples = re.findall(r"<pre>(.*?)</pre>", (SITE / "api.html").read_text(), re.S)
    assert any("simulate" in example and "evaluate" in example for example in examples)
    assert "<blockquote>" not in (SITE / "api.html").read_text()  # an example that became prose


def test_the_python_reference_has_every_public_name():
    anchors = [anchor for anchor in ANCHORS["api.html"].ids if re.match(r"(module-)?antler\.", anchor)]
    assert set(antler.__all__) - {anchor.split(".")[-1] for anchor in anchors} == set()


def test_the_c_reference_has_an_anchor_for_every_name():
    header = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    functions = re.findall(r"ANTLER_API[^;(]*?(antler_\w+)\(", header)
    types = re.findall(r"^(?:\}|typedef (?:struct|enum) \w+) ?.*?(antler_\w+);", header, re.M)
    assert len(functions) > 100 and len(types) > 30
    missing = {f"c.{name}" for name in functions + types} - ANCHORS["c_api.html"].ids
    assert missing == set()


@pytest.mark.parametrize("size", SIZES)
def test_a_link_shows_what_it_leads_to(browser, size):
    """Below the header of a narrow page."""
    show(browser, SHOWN["c-struct"], size)
    settle(browser)
    place = "const place = document.querySelector(':target').getBoundingClientRect();"
    seen = "document.elementFromPoint(place.x + 5, place.y + 5).closest(':target') !== null"
    assert browser.execute_script(f"{place} return place.y >= 0 && {seen}")


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("size, dark", LOOKS)
def test_screenshots_are_taken(browser, name, size, dark):
    show(browser, SHOWN[name], size, dark)
    settle(browser)
    SHOTS.mkdir(parents=True, exist_ok=True)
    shot = SHOTS / f"site-{name}-{size}-{'dark' if dark else 'light'}.png"
    assert browser.save_screenshot(str(shot)) and shot.stat().st_size > 10_000
