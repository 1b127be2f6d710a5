"""wrong_models.py PICTURE - free runs of good and of wrong models of Lorenz-63, each with its verdict."""

import sys
import tempfile

import matplotlib

matplotlib.use("Agg")

import antler
from antler.plot import style

CASES = {
    "defaults": {},
    "100 updates": {"updates": 100},
    "no forcing (gtf_alpha 0)": {"gtf_alpha": 0.0, "updates": 2000},
    "gtf_alpha 0.9, windows of 5": {"gtf_alpha": 0.9, "sequence_length": 5, "hidden_dim": 20, "updates": 2000},
}


def main(path):
    x, y = antler.simulate("lorenz63", 20_000), antler.simulate("lorenz63", 20_000, seed=2)
    with tempfile.TemporaryDirectory() as folder, style.context():
        _, axes = style.subplots(1, len(CASES), (style.PAGE, 2.0), sharex=True, sharey=True)
        for number, (name, change) in enumerate(CASES.items()):
            ax = axes[0, number]
            settings = {"updates": 6000, "device": "cpu", "threads": 1, "results": folder, "name": f"case-{number}"}
            (run,) = antler.train({**settings, **change}, x, verbose=False)
            free = run.model.generate(6000, context=y, warmup=100)
            found = run.model.evaluate(y, samples=5000, lyapunov=False)
            loss, dstsp, kind = run.log["loss"][-1], float(found["summary"]["dstsp"]), found.verdict.kind
            print(f"{name}: loss {loss:.2g}, D_stsp {dstsp:.2g}, {kind}")
            ax.plot(y[:6000, 0], y[:6000, 2], color=style.TRUE, linewidth=0.5)
            ax.plot(free[:, 0], free[:, 2], color=style.GENERATED, linewidth=0.5)
            ax.set_title(f"{name}\nloss {loss:.2g}, $D_{{stsp}}$ {dstsp:.2g}: {kind}", loc="left", fontsize=7)
            ax.set_xlim(-25, 25)
            ax.set_ylim(-2, 55)
            ax.set_xlabel("x")
        axes[0, 0].set_ylabel("z")
        style.orbit_legend(axes[0, 0], loc="lower left", handlelength=1.0)
    axes[0, 0].figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
