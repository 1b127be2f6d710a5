"""The report in headless Chromium: no error, every figure there and not empty, the attractor turns when dragged.

Run by scripts/test_browser.sh. Screenshots of each page (wide, narrow, dark) are left in $SCREENSHOTS, to be looked at.
"""

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

SHOTS = Path(os.environ.get("SCREENSHOTS", "build/screenshots"))
SINGLE = {"fig-attractor", "fig-series", "fig-spectra", "fig-training", "fig-convergence", "fig-lyapunov"}
SIZES = {"wide": (1280, 900), "narrow": (390, 800)}


def trained(folder, experiment, x, **changes):
    """A run with its page's data beside it, evaluated."""
    np.save(folder / f"{experiment}.npy", x)
    settings = dict(
        results=str(folder / "Results"),
        experiment=experiment,
        data=str(folder / f"{experiment}.npy"),
        latent_dim=5,
        hidden_dim=20,
        sequence_length=60,
        batch_size=8,
        updates=400,
        log_interval=10,
        check_interval=50,
        solver="deer",
        clipped=True,
        threads=1,
    )
    runs = antler.train({**settings, **changes}, verbose=False)
    for run in runs:
        code = os.spawnv(
            os.P_WAIT,
            os.environ["ANTLER"],
            [
                "antler",
                "evaluate",
                str(run.path),
                "--data",
                str(folder / f"{experiment}.npy"),
                "--samples",
                "500",
                "--quiet",
            ],
        )
        assert code in (0, 1)  # 1: its free run diverged
    return runs


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
    return {
        "single": report.write(run.path),
        "sweep": report.write(folder / "Results/sweep"),
        "one": report.write(one.path),
        "many": report.write(many.path),
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
    SHOTS.mkdir(parents=True, exist_ok=True)
    size = browser.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": min(size[1], 8000), "deviceScaleFactor": 1, "mobile": False},
    )
    time.sleep(1.0)
    browser.save_screenshot(str(SHOTS / f"{name}.png"))


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
]
MORE = {"sweep": {"fig-strips", "fig-losses"}, "many": {"fig-heat"}}


@pytest.mark.parametrize("name, size, dark", LOOKS)
def test_every_figure_is_there_and_nothing_is_wrong(browser, pages, name, size, dark):
    show(browser, pages[name], size, dark)
    check_figures(browser, SINGLE | MORE.get(name, set()))
    assert fits(browser)
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(20, 23, 28)") == dark
    photograph(browser, f"{name}-{size}-{'dark' if dark else 'light'}")
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
    browser.execute_script("document.querySelector('.thumb').click()")
    assert browser.execute_script(first) == 0
    heads = browser.find_elements(By.CSS_SELECTOR, "table.runs th.sort")
    loss = next(i for i, head in enumerate(heads) if head.text.startswith("loss"))
    browser.execute_script("arguments[0].click()", heads[loss])
    values = [
        float(cell.get_attribute("data-value"))
        for cell in browser.find_elements(By.CSS_SELECTOR, f"table.runs tbody td:nth-child({loss + 1})")
    ]
    assert values == sorted(values) and len(values) == 4
    assert errors(browser) == []
