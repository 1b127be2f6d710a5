"""Children of a process that has computed with threads, as multiprocessing makes them with fork."""

import multiprocessing

import numpy as np
import pytest

from antler import measures


def distance(seed):
    x, y = np.random.default_rng(seed).standard_normal((2, 400, 3))
    return measures.dstsp(x, y, samples=200)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork")
def test_children_compute_what_the_parent_does():
    expected = [distance(seed) for seed in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(distance, range(4)).get(timeout=120)  # a child that waits for ever fails here
    assert found == expected
