"""Ctrl-C in a notebook: the stop button of a real kernel."""

import os
import time
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")

CELL = """
import antler
model = antler.Reconstructor(updates=10**9, latent_dim=4, hidden_dim=8, sequence_length=20, log_interval=50,
                             validation=0.0)
model.fit(antler.simulate("lorenz63", 2000), callback=lambda row: print("ready") if row["update"] == 50 else None)
"""


def wait_for(client, wanted, seconds=60):
    """The next message of that kind, with what was printed and raised before it."""
    printed = ""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=seconds)
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            printed += content["text"]
        if wanted(kind, content):
            return content, printed
    raise AssertionError(f"nothing within {seconds} s; printed: {printed}")


def run(client, code, wanted):
    client.execute(code, stop_on_error=False)  # else a kernel drops for a while what comes after an error
    return wait_for(client, wanted)


def test_the_stop_button_stops_and_the_notebook_goes_on():
    environment = dict(os.environ)
    if not environment.get("ANTLER_INSTALLED"):
        environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "python")
    kernel, client = manager.start_new_kernel(env=environment)
    try:
        run(client, CELL, lambda kind, content: kind == "stream" and "ready" in content["text"])
        kernel.interrupt_kernel()
        error, _ = wait_for(client, lambda kind, content: kind == "error")
        assert error["ename"] == "KeyboardInterrupt"
        wait_for(client, lambda kind, content: kind == "status" and content["execution_state"] == "idle")
        code = "print(model.model_.latent_dim, model.log_['update'][-1] >= 50, len(model.generate(3, context=None)))"
        _, printed = run(client, code, lambda kind, content: kind == "stream")
        assert printed.split() == ["4", "True", "3"]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
