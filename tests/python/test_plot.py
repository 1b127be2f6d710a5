"""Every picture is drawn from a real run or from arrays, and what is drawn is what was given."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import antler  # noqa: E402
from antler import curves, plot, tables  # noqa: E402
from antler.plot import __main__ as command  # noqa: E402

SETTINGS = """
experiment: pictures
name: s
data: {folder}/train.npz
results: {folder}/Results
runs: 2
updates: 40
log_interval: 10
check_interval: 10
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
solver: deer
kappa: 0.9995
start_lr: 1e-3
validation: 0
grid:
  gtf_alpha: [0.1, 0.5]
"""


def command_line(*arguments):
    return subprocess.run([os.environ["ANTLER"], *arguments], check=True, capture_output=True, text=True).stdout


def lines(ax):
    """The data of all lines that have points."""
    return [line.get_xydata() for line in ax.get_lines() if len(line.get_xydata()) > 1]


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = cls.keeper.name
        command_line("simulate", "lorenz63", "--length", "4000", "--out", cls.path("train.npz"))
        command_line(
            "simulate", "lorenz63", "--length", "4000", "--seed", "2", "--noise", "0", "--out", cls.path("test.npz")
        )
        with open(cls.path("sweep.yaml"), "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(folder=cls.folder))
        command_line("sweep", cls.path("sweep.yaml"), "--quiet")
        cls.experiment = cls.path("Results/pictures")
        cls.one = cls.path("Results/pictures/s_gtf_alpha-0.5/001")
        command_line(
            "generate", cls.one, "--data", cls.path("test.npz"), "--steps", "500", "--out", cls.path("free.npz")
        )

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def setUp(self):
        self.pair = self.path("test.npz"), self.path("free.npz")

    def tearDown(self):
        plt.close("all")

    def test_attractor_has_both_orbits_in_user_units(self):
        solid = plot.attractor(*self.pair)
        self.assertEqual(solid.get_zlabel(), "z")
        flat = plot.attractor(*self.pair, variables=["x", "z"], rows=300)
        self.assertEqual((flat.get_xlabel(), flat.get_ylabel()), ("x", "z"))
        true = tables.orbit(self.pair[0]).x[:300][:, [0, 2]]
        np.testing.assert_allclose(lines(flat)[0], true)
        self.assertEqual(len(lines(flat)), 2)

    def test_one_variable_is_drawn_against_its_past(self):
        x = np.arange(100.0)
        ax = plot.attractor(x, x, delay=7)
        self.assertEqual(ax.get_zlabel(), "x1(t − 14)")
        self.assertEqual([axis[0] for axis in ax.get_lines()[0].get_data_3d()], [14.0, 7.0, 0.0])

    def test_series_short_and_full(self):
        axes = plot.series(*self.pair, rows=200, offset=101)
        self.assertEqual(axes.shape, (3, 2))
        true = tables.orbit(self.pair[0])
        np.testing.assert_allclose(lines(axes[1, 0])[0][:, 1], true.x[101:301, 1])
        np.testing.assert_allclose(lines(axes[1, 0])[0][1, 0], 0.01)
        self.assertEqual(plot.series(*self.pair, full=False).shape, (3, 1))

    def test_a_model_is_brought_into_line_with_the_data(self):
        true, run = tables.orbit(self.pair[0]), antler.load_run(self.one)
        free = run.model.generate(50, context=true.x)  # warmed up on 100 rows, because M > N
        ready = antler.Reconstructor.load(self.one)
        for source in (run, run.model, ready):
            drawn = lines(plot.series(true, source, rows=50, full=False)[0, 0])
            np.testing.assert_allclose(drawn[0][:, 1], true.x[101:151, 0])
            np.testing.assert_allclose(drawn[1][:, 1], free[:, 0])

    def test_a_diverged_orbit_does_not_squeeze_the_true_one(self):
        true, wild = np.sin(np.arange(400.0)), np.exp(np.arange(400.0))
        low, high = plot.series(true, wild, full=False)[0, 0].get_ylim()
        self.assertLess(high - low, 4.0)

    def test_envelope_keeps_spikes(self):
        x = np.zeros(100000)
        x[54321], x[77777] = 5.0, -3.0
        rows, values = curves.envelope(x, 1000)
        self.assertLessEqual(len(rows), 1010)
        self.assertEqual((values.max(), values.min()), (5.0, -3.0))
        self.assertTrue(np.all(np.diff(rows) >= 0))

    def test_spectra_show_the_distance_that_antler_measures(self):
        axes = plot.spectra(*self.pair)
        shown = [float(ax.get_title().split("=")[1]) for ax in axes]
        np.save(self.path("part.npy"), tables.orbit(self.pair[0]).x[:500])
        answer = command_line(
            "measure", "--true", self.path("part.npy"), "--generated", self.pair[1], "--samples", "10", "--json"
        )
        measured = json.loads(answer)["hellinger"]["each"]
        self.assertEqual(len(axes), 3)
        np.testing.assert_allclose(shown, measured, atol=5.1e-4)

    def test_heatmap_is_standardised_by_the_true_orbit(self):
        x = np.random.default_rng(1).normal(5.0, 3.0, (600, 12))
        axes = plot.heatmap(x, x, rows=600)
        image = axes[1].get_images()[0].get_array()
        self.assertEqual(image.shape, (12, 600))
        self.assertAlmostEqual(float(image.std()), 1.0, places=2)

    def test_latent_units_are_turned_towards_the_forcing(self):
        t = np.arange(2000) * 0.01
        drive = np.sin(t)
        axes = plot.latent(np.column_stack([t, -3.0 * drive + 1.0]), drive, units=[2])
        self.assertEqual(axes[0].get_title(loc="right"), "r = -1.00")
        forcing, unit = lines(axes[0])
        np.testing.assert_allclose(forcing[:, 1], unit[:, 1], atol=1e-9)
        with self.assertRaisesRegex(ValueError, "2000 rows of states and 7 of the forcing"):
            plot.latent(np.column_stack([t, t]), np.ones(7))

    def test_training_and_agreement_show_the_log(self):
        axes = plot.training(self.one)
        log = antler.load_run(self.one).log
        np.testing.assert_allclose(lines(axes[0])[0], np.column_stack([log["update"], log["loss"]]))
        self.assertGreater(lines(axes[1])[0][:, 1].min(), 0.9)
        states = lines(plot.agreement(self.one))[0]
        self.assertEqual(list(states[:, 0]), [10, 20, 30, 40])
        self.assertLess(states[:, 1].max(), 1e-3)

    def test_sweep_pictures_count_diverged_runs(self):
        columns = {
            "sequence_length": [10, 10, 10, 20, 20, 20],
            "dstsp": [1.0, 2.0, 4.0, 3.0, np.inf, np.inf],
            "rmse": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3],
        }
        self.assertEqual(curves.median_and_mad(columns["dstsp"][:3]), (2.0, 1.0))
        self.assertTrue(np.isinf(curves.median_and_mad(columns["dstsp"][3:])[0]))
        axes = plot.against(columns)
        crosses = [line for line in axes[0].get_lines() if line.get_marker() == "x"]
        self.assertEqual([list(line.get_xdata()) for line in crosses], [[20, 20]])
        ax = plot.strip(columns, by="sequence_length")
        self.assertEqual([text.get_text() for text in ax.texts], ["", "2/3"])
        self.assertEqual(sum(len(line.get_xdata()) for line in ax.get_lines() if line.get_marker() == "o"), 4)

    def test_a_folder_of_runs_is_a_table(self):
        columns = tables.table(self.experiment)
        self.assertEqual(list(columns["gtf_alpha"]), [0.1, 0.1, 0.5, 0.5])
        ax = plot.iterations(self.experiment, cap=100)
        self.assertEqual(ax.get_ylabel(), "Newton iterations")
        self.assertEqual(len(lines(ax)[0]), 2)
        written = tables.table(os.path.join(self.experiment, "metrics.csv"))
        np.testing.assert_allclose(np.sort(written["loss"]), np.sort(columns["loss"]), rtol=1e-8)

    def test_runtime_has_a_line_per_solver_and_size(self):
        answer = command_line(
            "bench",
            "solve",
            "--length",
            "64,128",
            "--latent-dim",
            "3,4",
            "--hidden-dim",
            "8",
            "--seconds",
            "0.01",
            "--updates",
            "1",
            "--solver",
            "sequential,deer",
            "--json",
        )
        with open(self.path("bench.json"), "w", encoding="utf-8") as file:
            file.write(answer)
        ax = plot.runtime(self.path("bench.json"))
        self.assertEqual(len(lines(ax)), 4)

    def test_files_are_vector_or_png_by_their_ending(self):
        out = [self.path(f"a.{ending}") for ending in ("png", "pdf", "svg")]
        plot.save(plot.attractor(*self.pair), *out)
        for path, head in zip(out, (b"\x89PNG\r", b"%PDF-", b"<?xml")):
            with open(path, "rb") as file:
                self.assertEqual(file.read(5), head)

    def test_nothing_but_the_style_is_put_back(self):
        """A notebook chooses its backend at the first figure; that choice must outlive the picture."""
        size, interactive = matplotlib.rcParams["font.size"], matplotlib.is_interactive()
        try:
            with plot.style.context():
                matplotlib.interactive(not interactive)
                self.assertEqual(matplotlib.rcParams["font.size"], 8)
            self.assertEqual(matplotlib.is_interactive(), not interactive)
            self.assertEqual(matplotlib.rcParams["font.size"], size)
        finally:
            matplotlib.interactive(interactive)

    def test_command(self):
        out = self.path("c.png")
        self.assertEqual(command.main(["attractor", *self.pair, "--out", out, "--variables", "x,y"]), 0)
        self.assertGreater(os.path.getsize(out), 5000)
        self.assertEqual(command.main(["training", self.one, "--out", self.path("t.pdf")]), 0)
        for arguments in (
            ["attractor", *self.pair, "--variables", "w,x"],
            ["attractor", self.pair[0]],
            ["spectra", *self.pair, "--by", "gtf_alpha"],
            ["series", "nowhere.npz", "nowhere.npz"],
        ):
            self.assertEqual(command.main([*arguments, "--out", self.path("no.png")]), 2)
        self.assertFalse(os.path.exists(self.path("no.png")))

    def test_what_generate_returned_is_brought_into_line(self):
        true, run = tables.orbit(self.pair[0]), antler.load_run(self.one)
        free = run.model.generate(50, context=true.x, warmup=200)
        drawn = lines(plot.series(true, free, rows=50, full=False)[0, 0])
        np.testing.assert_allclose(drawn[0][:, 1], true.x[201:251, 0])
        np.testing.assert_allclose(drawn[1][:, 1], free[:, 0])
        after = run.model.generate(30, context=true.x, warmup=len(true.x) - 1)
        self.assertEqual(after.first_row, len(true.x))
        drawn = lines(plot.series(true, after, rows=40, full=False)[0, 0])  # it follows the true orbit
        np.testing.assert_allclose(drawn[0], np.column_stack([0.01 * np.arange(-40, 0), true.x[-40:, 0]]))
        np.testing.assert_allclose(drawn[1], np.column_stack([0.01 * np.arange(30), after[:, 0]]))

    def test_estimators_runs_models_and_folders(self):
        settings = dict(latent_dim=4, hidden_dim=8, sequence_length=30, batch_size=4, updates=20, log_interval=5)
        settings.update(validation=0.0, runs=2, threads=1, verbose=False, random_state=0)
        x = tables.orbit(self.path("train.npz")).x
        model = antler.Reconstructor(**settings).fit(x)
        drawn = lines(plot.training(model)[0])
        self.assertEqual(len(drawn), 2)
        np.testing.assert_allclose(drawn[1], np.column_stack([model.logs_[1]["update"], model.logs_[1]["loss"]]))
        loaded = antler.load_run(self.one).model
        np.testing.assert_allclose(lines(plot.training(loaded)[0])[0], lines(plot.training(self.one)[0])[0])
        with self.assertRaisesRegex(ValueError, "a model has no log of its training"):
            plot.training(model.model_)
        by_folder, by_run = (lines(plot.attractor(self.pair[0], source, ["x", "y"])) for source in (self.one, loaded))
        np.testing.assert_array_equal(by_folder[1], by_run[1])
        disk = antler.Reconstructor(**settings, results=self.path("more")).fit(x)
        self.assertEqual(len(tables.table(disk)["loss"]), 2)

    def test_a_forecast_has_a_band(self):
        x = tables.orbit(self.path("test.npz")).x
        found = antler.load_run(self.one).model.forecast(40, 5, context=x[:3000], windows=0)
        axes = plot.forecast(found, x, rows=100)
        self.assertEqual(len(axes), 3)
        past, median = lines(axes[1])
        np.testing.assert_allclose(past, np.column_stack([np.arange(-100, 40), x[2900:3040, 1]]))
        np.testing.assert_allclose(median[:, 1], found.median[:, 1])
        edges = axes[1].collections[0].get_paths()[0].vertices[:, 1]
        self.assertAlmostEqual(edges.max(), max(found.upper[:, 1].max(), found.lower[:, 1].max()))
        self.assertIsNotNone(axes[0].get_legend())
        self.assertIsNone(plot.forecast(found)[0].get_legend())  # no true curve to name

    def test_a_run_stands_for_its_free_run(self):
        ax = plot.attractor(self.pair[0], antler.load_run(self.one), variables=["x", "y"], rows=400)
        drawn = lines(ax)[1]
        np.testing.assert_allclose(drawn, tables.orbit(self.pair[1]).x[:400, :2], rtol=1e-9)
