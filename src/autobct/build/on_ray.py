"""The Bellman step of a map on a Ray cluster: cut by states, the same bits as on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["cut_by", "on_ray"]

Part = TypeVar("Part")
Value = TypeVar("Value")


def on_ray(
    ray_options: dict[str, Any] | None = None,
) -> Callable[[Callable[[Part], Value], Iterable[Part]], Iterator[Value]]:
    """A `map` whose calls are tasks on a Ray cluster, for `build_forest(..., cut=on_ray())`; results come in order.

    ray_options: of the tasks, as `ray.remote` has them; one CPU each by default.  Ray starts on this machine if it is
                 not connected to a cluster.  ImportError if Ray is not installed

    A chunk is computed by the same code from the same numbers wherever it is, so that the map does not depend on the
    number of nodes.  All need the same versions of NumPy and SciPy; a task has as many BLAS threads as it has CPUs.
    """
    try:
        import ray
    except ImportError:
        raise ImportError("on_ray() needs Ray: pip install 'autobct[ray]'", name="ray") from None
    if not ray.is_initialized():
        ray.init()
    task: Any = ray.remote(_applied).options(**{"num_cpus": 1, **(ray_options or {})})

    def cut(function: Callable[[Part], Value], parts: Iterable[Part]) -> Iterator[Value]:
        shared = ray.put(function)  # with the value function of the last step: sent to each node once
        for reference in [task.remote(shared, part) for part in parts]:
            yield ray.get(reference)

    return cut


def cut_by(ray: bool) -> Any:
    """Who computes the chunks of a build: a Ray cluster, or this process."""
    return on_ray() if ray else map


def _applied(function: Callable[[Part], Value], part: Part) -> Value:
    return function(part)
