"""The report in headless Chromium: no error, every figure there and not empty, what turns, zooms, saves and prints.

Run by scripts/test_browser.sh. Screenshots of each page (wide, narrow, dark) are left in $SCREENSHOTS, to be looked at.
"""

import base64
import csv
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import antler
from antler import report

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

NEEDS_WEBGL = True
SHOTS = Path(os.environ.get("SCREENSHOTS", "build/screenshots"))
ALWAYS = {"fig-attractor", "fig-series", "fig-horizon", "fig-marginals", "fig-autocorrelation", "fig-training"}
SINGLE = ALWAYS | {"fig-correlations", "fig-spectra", "fig-convergence", "fig-lyapunov"}
SIZES = {"wide": (1280, 900), "narrow": (390, 800)}


def trained(folder, experiment, x, text=None, **changes):
    """A run with its page's data beside it, evaluated; the data are x or the text of a .csv."""
    data = folder / f"{experiment}.{'npy' if text is None else 'csv'}"
    if text is None:
        np.save(data, x)
    else:
        data.write_text(text)
    settings = dict(
        results=str(folder / "Results"),
        experiment=experiment,
        data=str(data),
        latent_dim=5,
        hidden_dim=20,
        sequence_length=60,
        batch_size=8,
        updates=400,
        log_interval=10,
        check_interval=50,
        solver="deer",
        clipped=True,
        kappa=0.9995,
        gtf_alpha=0.15,
        start_lr=1e-3,
        validation=0.0,
        threads=1,
    )
    runs = antler.train({**settings, **changes}, verbose=False)
    for run in runs:
        evaluate(run, data)
    return runs


def evaluate(run, data):
    words = ["antler", "evaluate", str(run.path), "--data", str(data), "--samples", "500", "--quiet"]
    code = os.spawnv(os.P_WAIT, os.environ["ANTLER"], words)
    assert code in (0, 1)  # 1: its free run diverged


def explode(path):
    """Make the first latent unit grow by half in every step, as long as it is positive."""
    with np.load(path) as file:
        arrays = dict(file)
    arrays["V"][0], arrays["b"][0], arrays["W"][:, 0] = np.eye(5)[0], 0.0, 0.6 * np.eye(5)[0]
    arrays["h"][0] = 0.5
    np.savez(path, **arrays)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    x = antler.simulate("lorenz63", 6000)
    run = trained(folder, "single", x)[0]
    for alpha in (0.1, 0.5):
        trained(folder, "sweep", x, gtf_alpha=alpha, name=f"alpha-{alpha}", runs=2, updates=200)
    one = trained(folder, "one", x[:, :1], updates=100)[0]
    phases = np.linspace(0.0, 4.0, 14)
    many = trained(
        folder,
        "many",
        np.sin(np.arange(4000)[:, None] * 0.05 + phases) + 0.1 * x[:4000, :1],
        latent_dim=14,
        updates=100,
    )[0]
    diverged = trained(folder, "diverged", x, updates=20, solver="sequential", check_interval=0, clipped=False)[0]
    explode(diverged.path / "model.npz")
    evaluate(diverged, folder / "diverged.npy")
    lines = [f"{2 * i},{a:.4f},{b:.4f},{c:.4f}" for i, (a, b, c) in enumerate(x)]
    named = "time [ms],pressure inlet [bar],temperature of the bath,v\n" + "\n".join(lines)
    named_run = trained(folder, "named", None, named, updates=50, check_interval=0)[0]
    short = trained(folder, "short", x[:150], updates=5, log_interval=1, sequence_length=40)[0]
    return {
        "single": report.write(run.path),
        "diverged": report.write(diverged.path),
        "short": report.write(short.path),
        "sweep": report.write(folder / "Results/sweep"),
        "one": report.write(one.path),
        "many": report.write(many.path),
        "named": report.write(named_run.path),
    }


def show(browser, page, size="wide", dark=False):
    width, height = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(page.resolve().as_uri())
    browser.execute_script("localStorage.clear()")
    deadline = time.monotonic() + 120
    while not browser.execute_script("return window.antlerReport && window.antlerReport.ready"):
        trouble = browser.execute_script("return document.getElementById('trouble').textContent")
        assert trouble == "" and time.monotonic() < deadline, trouble
        time.sleep(0.1)
    time.sleep(0.5)  # the last frame


def photograph(browser, name):
    """The whole page, in pictures of at most 5,000 pixels; Chromium repeats a page that is much higher."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    width, height = browser.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
    parts = -(-height // 5000)
    each = -(-height // parts)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": each, "deviceScaleFactor": 1, "mobile": False},
    )
    for part in range(parts):
        browser.execute_script("window.scrollTo({top: arguments[0], behavior: 'instant'})", part * each)
        time.sleep(1.0)
        browser.save_screenshot(str(SHOTS / f"{name}{f'-{part + 1}' if part else ''}.png"))


def errors(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


FIGURES = """
return Object.entries(window.antlerReport.figures).map(([id, place]) => ({
  id, traces: (place._fullData || []).length, width: place.clientWidth, height: place.clientHeight,
  points: (place._fullData || []).reduce((n, t) => n + (t.type === 'heatmap' ? t.z : t.y || []).length, 0),
  drawn: place.querySelectorAll('svg.main-svg, canvas').length,
  inside: place.getBoundingClientRect().right <= document.documentElement.clientWidth + 1 }));
"""


def check_figures(browser, expected):
    found = {figure["id"]: figure for figure in browser.execute_script(FIGURES)}
    assert set(found) == set(expected)
    on_page = browser.find_elements(By.CSS_SELECTOR, ".drawing")
    assert {figure.get_attribute("id") for figure in on_page if figure.is_displayed()} == set(expected)
    for figure in found.values():
        assert figure["traces"] > 0 and figure["points"] > 3 and figure["drawn"] > 0, figure
        assert figure["width"] > 200 and figure["height"] > 100 and figure["inside"], figure


def fits(browser):
    """Nothing sticks out to the right."""
    return browser.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


LOOKS = [
    ("single", "wide", False),
    ("single", "narrow", True),
    ("sweep", "wide", False),
    ("sweep", "narrow", False),
    ("sweep", "wide", True),
    ("one", "wide", False),
    ("many", "wide", True),
    ("many", "narrow", False),
    ("diverged", "wide", False),
    ("diverged", "narrow", True),
    ("short", "wide", True),
    ("short", "narrow", False),
]
EXPECTED = {
    "single": SINGLE,
    "sweep": SINGLE | {"fig-strips", "fig-losses"},
    "one": SINGLE - {"fig-correlations"},
    "many": SINGLE | {"fig-heat"},
    "diverged": {"fig-attractor", "fig-series", "fig-horizon", "fig-training"},
    "short": SINGLE - {"fig-spectra"},
}


@pytest.mark.parametrize("name, size, dark", LOOKS)
def test_every_figure_is_there_and_nothing_is_wrong(browser, pages, name, size, dark):
    show(browser, pages[name], size, dark)
    check_figures(browser, EXPECTED[name])
    assert fits(browser)
    tops = "return ['.verdict', '.cards'].map((q) => document.querySelector(q).getBoundingClientRect().top + scrollY)"
    verdict, cards = browser.execute_script(tops)
    assert verdict < 450 and verdict < cards
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(20, 23, 28)") == dark
    photograph(browser, f"{name}-{size}-{'dark' if dark else 'light'}")
    assert errors(browser) == []


TITLES = """
const title = (id, axis) => document.getElementById(id)._fullLayout[axis].title.text;
const shown = (axis) => document.getElementById('fig-correlations')._fullLayout[axis].showticklabels;
return [title('fig-series', 'xaxis'), title('fig-horizon', 'xaxis'), title('fig-autocorrelation', 'xaxis'),
  title('fig-spectra', 'xaxis'), title('fig-lyapunov', 'yaxis'), title('fig-series', 'yaxis'),
  title('fig-series', 'yaxis3'), shown('yaxis'), shown('yaxis2'), shown('yaxis3')];
"""


def test_axes_have_units_of_time_and_long_names_do_not_overlap(browser, pages):
    show(browser, pages["named"])
    found = browser.execute_script(TITLES)
    units = ["time since the free run began [ms]", "time ahead [ms]", "lag [ms]", "frequency [1/ms]", "per ms"]
    assert found == [*units, "pressure i…", "v", True, False, False]
    photograph(browser, "named-wide-light")
    assert errors(browser) == []


EYE = """
const eye = document.getElementById('fig-attractor')._fullLayout.scene._scene.getCamera().eye;
return [eye.x, eye.y, eye.z];
"""


def test_the_attractor_turns_when_dragged(browser, pages):
    show(browser, pages["single"])
    place = browser.find_element(By.ID, "fig-attractor")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    time.sleep(0.3)
    before = browser.execute_script(EYE)
    ActionChains(browser).move_to_element(place).click_and_hold().move_by_offset(60, 20).move_by_offset(
        60, 20
    ).release().perform()
    time.sleep(0.5)
    after = browser.execute_script(EYE)
    assert np.linalg.norm(np.subtract(after, before)) > 0.2
    assert errors(browser) == []


def test_the_attractor_turns_with_the_keyboard(browser, pages):
    show(browser, pages["single"])
    place = browser.find_element(By.ID, "fig-attractor")
    before = np.array(browser.execute_script(EYE))
    place.send_keys(Keys.ARROW_RIGHT)
    time.sleep(0.3)
    turned = np.array(browser.execute_script(EYE))
    assert abs(np.linalg.norm(turned) - np.linalg.norm(before)) < 0.01 and np.linalg.norm(turned - before) > 0.1
    place.send_keys("+")
    time.sleep(0.3)
    nearer = np.array(browser.execute_script(EYE))
    assert abs(np.linalg.norm(nearer) / np.linalg.norm(turned) - 0.9) < 0.01


def saved(folder, name):
    """The bytes of a file that the browser saves."""
    deadline = time.monotonic() + 60
    while not (folder / name).exists() or not (folder / name).stat().st_size:
        assert time.monotonic() < deadline, [path.name for path in folder.iterdir()]
        time.sleep(0.1)
    return (folder / name).read_bytes()


def test_figures_and_numbers_are_saved(browser, pages, tmp_path):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    show(browser, pages["single"])
    name = browser.execute_script("return fileName()")
    press = "document.querySelector(`.save[data-figure='fig-${arguments[0]}'][data-format='${arguments[1]}']`).click()"
    for figure, form, start in (("attractor", "png", b"\x89PNG"), ("spectra", "svg", b"<svg")):
        browser.execute_script(press, figure, form)
        assert saved(tmp_path, f"{name}-{figure}.{form}").startswith(start)
    payload = browser.execute_script("return data.runs[0]")
    browser.execute_script(press, "horizon", "csv")
    rows = list(csv.DictReader(saved(tmp_path, f"{name}-horizon.csv").decode().splitlines()))
    assert [float(row["y"]) for row in rows if row["series"] == "model"] == payload["horizon"]["model"]
    browser.execute_script(press, "correlations", "csv")
    rows = list(csv.DictReader(saved(tmp_path, f"{name}-correlations.csv").decode().splitlines()))
    values = [float(row["value"]) for row in rows if row["series"] == "free run"]
    assert values == list(np.ravel(payload["statistics"]["correlations"]))
    browser.execute_script(press, "lyapunov", "csv")
    rows = list(csv.DictReader(saved(tmp_path, f"{name}-lyapunov.csv").decode().splitlines()))
    assert len(rows) == 5 and float(rows[0]["standard_error"]) > 0
    browser.find_element(By.ID, "save-measures").click()
    rows = list(csv.DictReader(saved(tmp_path, f"{name}-measures.csv").decode().splitlines()))
    assert {row["measure"]: float(row["value"]) for row in rows}["rmse"] == payload["measures"]["rmse"]
    assert all(row["floor"] for row in rows if row["measure"] in ("dstsp", "hellinger", "rmse"))
    browser.find_element(By.ID, "save-numbers").click()
    numbers = json.loads(saved(tmp_path, f"{name}.json"))
    assert numbers["runs"][0]["provenance"]["run"].endswith("/001") and numbers["truths"][0]["rows"] == 6000
    assert errors(browser) == []


PAPER = "Object.values(antlerReport.figures).every((p) => p.getBoundingClientRect().width <= 680)"
DRAWN = "Object.values(antlerReport.figures).every((p) => p.id == 'fig-attractor' || p._fullLayout.width <= 680)"


def test_paper_is_light_and_everything_fits_on_it(browser, pages):
    show(browser, pages["single"], dark=True)
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "light"
    assert browser.execute_script(f"return {PAPER} && {DRAWN}")
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    time.sleep(0.5)
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert not browser.execute_script(f"return {PAPER}")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    (SHOTS / "single.pdf").write_bytes(base64.b64decode(printed["data"]))
    assert errors(browser) == []


def test_what_is_not_shown_is_explained_in_one_line(browser, pages):
    for name, lines in (
        ("one", ["Correlations between variables: the data have a single variable."]),
        ("single", []),
    ):
        show(browser, pages[name])
        assert [line.text for line in browser.find_elements(By.CSS_SELECTOR, "#absent li")] == lines
    show(browser, pages["diverged"])
    listed = browser.find_element(By.ID, "absent").text
    assert "Marginals, Autocorrelation, Correlations between variables, Power spectra: the free run has only" in listed
    assert "Lyapunov exponents: the orbit diverged at step" in listed and "The parallel solver: sequential." in listed


def test_what_cannot_be_drawn_is_left_out(browser, pages, tmp_path):
    """A run without data or measures still has its training; nothing stands there empty."""
    shutil.copytree(pages["single"].parent, tmp_path / "001")
    (tmp_path / "001/metrics.json").unlink()
    config = tmp_path / "001/config.yaml"
    config.write_text(config.read_text().replace("single.npy", "gone.npy"))
    show(browser, report.write(tmp_path / "001"))
    check_figures(browser, {"fig-training", "fig-convergence"})
    assert "name them by --data" in browser.find_element(By.ID, "run-note").text
    assert errors(browser) == []


def test_the_theme_can_be_chosen_and_keeps_the_figures(browser, pages):
    show(browser, pages["single"])
    colour = "return document.getElementById('fig-series')._fullData[1].line.color"
    light = browser.execute_script(colour)
    browser.find_element(By.ID, "theme").click()
    time.sleep(1.0)
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert browser.execute_script(colour) != light
    check_figures(browser, SINGLE)
    assert errors(browser) == []


def test_a_series_zooms_and_shows_the_whole(browser, pages):
    show(browser, pages["single"])
    shown = "const r = document.getElementById('fig-series')._fullLayout.xaxis.range; return r[1] - r[0]"
    place = browser.find_element(By.ID, "fig-series")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    time.sleep(0.3)
    before = browser.execute_script(shown)
    ActionChains(browser).move_to_element_with_offset(place, -100, -60).click_and_hold().move_by_offset(
        80, 0
    ).move_by_offset(80, 0).release().perform()
    time.sleep(0.5)
    assert browser.execute_script(shown) < 0.5 * before
    browser.find_element(By.ID, "series-whole").click()
    time.sleep(0.5)
    assert browser.execute_script(shown) > before


def test_a_sweep_is_sorted_and_a_run_is_chosen(browser, pages):
    show(browser, pages["sweep"])
    first = "return antlerReport.run"
    row = browser.find_elements(By.CSS_SELECTOR, "tr.pick")[3]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", row)
    assert browser.execute_script(first) == 3
    assert browser.execute_script("return data.runs[3].name") in browser.find_element(
        By.CSS_SELECTOR, "[data-part='provenance']"
    ).get_attribute("textContent")
    browser.execute_script("document.querySelector('.thumb').click()")
    assert browser.execute_script(first) == 0
    assert browser.execute_script("return data.runs[0].name") in browser.find_element(
        By.CSS_SELECTOR, "[data-part='provenance']"
    ).get_attribute("textContent")
    heads = browser.find_elements(By.CSS_SELECTOR, "table.runs th.sort")
    loss = next(i for i, head in enumerate(heads) if head.text.startswith("loss"))
    heads[loss].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert heads[loss].get_attribute("aria-sort") == "ascending"
    values = [
        float(cell.get_attribute("data-value"))
        for cell in browser.find_elements(By.CSS_SELECTOR, f"table.runs tbody td:nth-child({loss + 1})")
    ]
    assert values == sorted(values) and len(values) == 4
    assert errors(browser) == []
