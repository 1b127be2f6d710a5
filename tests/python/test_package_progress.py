"""The progress bar."""

import sys
import types

import antler


class Bar:
    made = []

    def __init__(self, total=None, unit=None, disable=None, leave=None):
        self.total, self.done, self.closed = total, 0, False
        Bar.made.append(self)

    def update(self, count):
        self.done += count

    def set_postfix(self, **values):
        assert float(values["loss"]) > 0.0

    def close(self):
        self.closed = True


def test_tqdm_is_used_where_it_is_installed(monkeypatch, lorenz, small):
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    antler.Reconstructor(**{**small, "runs": 2}).fit(lorenz)
    (bar,) = Bar.made
    assert bar.total == bar.done == 2 * small["updates"] and bar.closed
    antler.Reconstructor(**small, verbose=False).fit(lorenz)
    assert len(Bar.made) == 1


def test_without_tqdm_there_is_silence(monkeypatch, capfd, lorenz, small):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    antler.Reconstructor(**small).fit(lorenz)
    assert capfd.readouterr() == ("", "")
