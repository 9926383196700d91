"""A map built on a Ray cluster has the same bits as one built in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'autobct[ray]'")

import ray

from autobct.build.forests.forest_builder import build_forest, quick_or_paper
from autobct.build.networks.network_builder import build_map, request_for
from autobct.build.on_ray import cut_by, on_ray
from autobct.maps.container import unpack

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Two workers, with as many BLAS threads as this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.shutdown()
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


def values_in(path: Path) -> dict[str, Any]:
    tensors, _ = unpack(path.read_bytes())
    return {name: array.tobytes() for name, array in tensors.items()}


def test_values_come_in_order_and_from_other_processes() -> None:
    import os

    parts = [np.full(3, number) for number in range(7)]
    found = list(on_ray()(lambda part: (os.getpid(), part.sum()), parts))
    assert [total for _, total in found] == [3 * number for number in range(7)]
    assert os.getpid() not in {process for process, _ in found}
    assert cut_by(False) is map


def test_a_forest_map_has_the_same_bits(tmp_path: Path) -> None:
    request = replace(quick_or_paper(1, "linear", 3, 600, 0, quick=True), draws=0)  # three chunks
    here = build_forest(request, tmp_path / "here")
    there = build_forest(request, tmp_path / "there", cut=on_ray())
    assert values_in(here) == values_in(there)


def test_a_network_map_has_the_same_bits(tmp_path: Path) -> None:
    request = replace(request_for(1, "linear", True, 2, 600, 0, "cpu", quick=True), draws=0)  # three chunks
    here = build_map(request, tmp_path / "here")
    there = build_map(request, tmp_path / "there", cut=on_ray())
    assert values_in(here) == values_in(there)


def test_an_error_in_a_chunk_ends_the_build() -> None:
    def broken(part: Any) -> Any:
        raise ValueError("no such state")

    with pytest.raises(ValueError, match="no such state"):
        list(on_ray()(broken, [1, 2]))
