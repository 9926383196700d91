"""Builds one network map, on CPU or CUDA: train, evaluate, write; an interrupted build resumes where it stopped.

Each V_k depends on the request and on the value functions before it, not on how often the build was interrupted: on
one device (and number of threads) a resumed build gives the networks of an uninterrupted one, bit for bit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from autobct.belief.cost import COST_MODELS
from autobct.belief.prior import Prior
from autobct.build.checkpoints import BuildError, Checkpoints
from autobct.build.layout import (
    PAPER_NAMES,
    basis_of,
    default_names,
    neighbour_pairs,
    priors_of,
    reference_controls,
    training_controls,
)
from autobct.build.map_worth import DuelRow, row_of
from autobct.build.networks.game import Beliefs, Game
from autobct.build.networks.judged import check_device, game_of, torch_duel, values_of
from autobct.build.networks.network_training import (
    Cut,
    TrainingSettings,
    empty_network,
    next_value,
    scattered,
    stack_priors,
)
from autobct.build.networks.network_value import NetworkValue, root
from autobct.maps.container import SUFFIX, Tensors
from autobct.maps.library import save_map
from autobct.tuning.problem import OVERHEAD
from autobct.value.maps.map_spec import MapSpec
from autobct.value.maps.value_map import ValueMap, network_of
from autobct.version import __version__

JUDGED_PRICE = 0.16
"""The paper's price, at which a finished map is judged."""

Progress = Callable[[int, int, str], None]
"""Told after every part of a build: (parts done, of how many, a line about the last one)."""

_DRAWS = {("cuda", 1): 20_000, ("cuda", 2): 20_000, ("cpu", 1): 1000, ("cpu", 2): 200}
_CHEAPEST = 0.02  # price of a run over lambda: below it the error of a map is larger than what it decides about
_CHEAPEST_2D_RECALL = 0.05
_TYPICAL = (0.005, 0.995)  # quantiles of the first beliefs that a map says it is for


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Everything that decides what a build finds.

    cost:      "linear" or "log-linear";  recall: whether any trained model may be returned, or only the last
    priors:    first beliefs to learn around, the paper's by name or any with the map's basis; a good set if empty
    settings:  how much work it is; its seed is replaced by `seed`
    draws:     simulated runs per prior of the paper that the finished map is judged on; 0 for none
    """

    dim: int = 1
    cost: str = "linear"
    recall: bool = False
    priors: tuple[str | Prior, ...] = ()
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    seed: int = 0
    device: str = "cpu"
    draws: int = 1000

    def __post_init__(self) -> None:
        """Refuse what cannot be built, before anything is."""
        if self.cost not in COST_MODELS:
            raise ValueError(f"cost must be one of {', '.join(COST_MODELS)}, got {self.cost!r}")
        priors_of(self._priors, self.dim, self.cost)
        for name, value, least in (("runs", self.settings.runs, 1), ("states", self.settings.states, 1)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if self.seed < 0:
            raise ValueError(f"seed must be zero or positive, got {self.seed}")
        check_device(self.device)

    @property
    def _priors(self) -> tuple[str | Prior, ...]:
        return self.priors or default_names(self.dim, self.cost)

    @property
    def name(self) -> str:
        """What such a map is called, e.g. 1d-log-recall: as `autobct.tuning.decide.default_policy.shipped_for`."""
        return f"{self.dim}d-{self.cost.removesuffix('-linear')}-{'recall' if self.recall else 'last'}"

    @property
    def training(self) -> TrainingSettings:
        """The settings with the request's seed."""
        return replace(self.settings, seed=self.seed)

    def lines(self) -> tuple[str, ...]:
        """The request, "name: value" a line, with what else decides the last bit of a network."""
        settings = {name: value for name, value in asdict(self.training).items() if name != "seed"}
        return (
            f"dim: {self.dim}",
            f"cost: {self.cost}",
            f"recall: {self.recall}",
            f"priors: {', '.join(_name_of(prior) for prior in self._priors)}",
            *(f"{name}: {value}" for name, value in settings.items()),
            f"seed: {self.seed}",
            f"device: {device_name(self.device)}",
            f"torch: {torch.__version__}",
        )

    def beliefs(self) -> list[Prior]:
        """The priors themselves."""
        return priors_of(self._priors, self.dim, self.cost)

    def bare_spec(self) -> MapSpec:
        """The game, before it is known which prices and noises it covers."""
        return MapSpec(
            basis=basis_of(self.dim).name,
            dim=self.dim,
            cost_model=self.cost,
            recall=self.recall,
            overhead=OVERHEAD,
            references=reference_controls(self.dim),
            neighbours=neighbour_pairs(self.dim),
            prices=(0.0, 0.0),
            noises=(0.0, 0.0),
        )


def default_settings(dim: int, device: str, *, quick: bool = False) -> TrainingSettings:
    """A good map: on a GPU in minutes, on two CPU cores under ten minutes in 1-D; quick: a poor one in seconds."""
    if quick:
        return TrainingSettings(states=512, steps=60, batch=512, runs=2, rounds=2, hidden=16, chunk=256)
    runs, hidden, rate = (8, 64, 3e-3) if dim == 1 else (6, 128, 2e-3)
    if device == "cuda":
        chunk = 4096 if dim == 1 else 2048
        return TrainingSettings(131_072, 12_000, 32_768, runs=runs, rounds=4, hidden=hidden, rate=rate, chunk=chunk)
    states, chunk = (8_192, 512) if dim == 1 else (2_048, 64)
    return TrainingSettings(states, 1000, 4_096, runs=6, rounds=4, hidden=hidden, chunk=chunk)


def request_for(
    dim: int, cost: str, recall: bool, runs: int | None, states: int | None, seed: int, device: str, *, quick: bool
) -> BuildRequest:
    """The request behind `autobct maps build`: defaults for what is None, and judging that fits the device."""
    check_device(device)
    settings = default_settings(dim, device, quick=quick)
    settings = replace(settings, runs=runs or settings.runs, states=states or settings.states)
    draws = 64 if quick else _DRAWS[device, dim]
    return BuildRequest(dim, str(cost), recall, settings=settings, seed=seed, device=str(device), draws=draws)


def build_map(
    request: BuildRequest, folder: Path, progress: Progress = lambda done, total, text: None, *, cut: Cut = map
) -> Path:
    """Build the map, or go on where a build of the same request stopped; the finished file, in `folder`.

    cut: who applies the Bellman operator to the chunks of the states: `map`, or a cluster; the map is the same

    The checkpoints stay beside it; `clear_checkpoints` removes them.  BuildError if the folder holds another build or
    the disk is full; what was found until then is kept.
    """
    checkpoints = Checkpoints(folder, request.lines())
    with fast_products(request.device):
        bare = request.bare_spec()
        game = game_of(bare, training_controls(request.dim), device=request.device)
        anchors = stack_priors(request.beliefs(), game)
        parts, seconds = _networks(request, game, anchors, checkpoints, progress, cut)
        value_map = ValueMap(_with_ranges(bare, game, anchors), tuple(network_of(part) for part in parts))
        started = time.perf_counter()
        rows = _judged(request, value_map, progress)
        seconds += time.perf_counter() - started
    path = folder / f"{request.name}{SUFFIX}"
    try:
        save_map(path, value_map, about(request.lines(), seconds, rows))
    except OSError as error:
        kept = checkpoints.kept(len(parts))
        raise BuildError(f"the map could not be written ({error.strerror or error}); {kept}") from error
    return path


def about(lines: tuple[str, ...], seconds: float, rows: list[DuelRow]) -> dict[str, str]:
    """What a map file tells of its build: everything needed to rebuild it, and what it is worth."""
    return {
        "build": "\n".join(lines),
        "autobct": __version__,
        "numpy": np.__version__,
        "seconds": f"{seconds:.1f}",
        "policy": json.dumps([row.as_dict() for row in rows]),
    }


def device_name(device: str) -> str:
    """The device in words, e.g. "cuda (NVIDIA H200)"."""
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    return f"{device} ({name})"


def _networks(
    request: BuildRequest, game: Game, anchors: Beliefs, checkpoints: Checkpoints, progress: Progress, cut: Cut
) -> tuple[list[Tensors], float]:
    """The arrays of all value functions, those on disk included, and the seconds they took."""
    runs, total = request.settings.runs, _parts(request)
    kept, damage = checkpoints.load(runs)
    if damage is not None:
        progress(len(kept), total, damage)
    if kept:
        progress(len(kept), total, f"continuing after V_{len(kept) + 1}, found in {checkpoints.folder}")
    parts, seconds = [one.tensors for one in kept], sum(one.seconds for one in kept)
    found = [_module(game, request.settings, part) for part in parts]
    for index in range(len(found), runs):
        started, said = time.perf_counter(), [""]
        found.append(next_value(game, anchors, request.training, found, progress=said.append, cut=cut))
        parts.append({name: value.detach().cpu().numpy() for name, value in found[-1].state_dict().items()})
        took = time.perf_counter() - started
        checkpoints.save(index, parts[-1], took)
        seconds += took
        progress(index + 1, total, said[-1])
    return parts, seconds


def _module(game: Game, settings: TrainingSettings, tensors: Tensors) -> NetworkValue:
    network = empty_network(game, settings.hidden)
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in tensors.items()})
    return network


def _judged(request: BuildRequest, value_map: ValueMap, progress: Progress) -> list[DuelRow]:
    rows: list[DuelRow] = []
    if request.draws == 0:
        return rows
    values = values_of(value_map, request.device)
    for name in PAPER_NAMES[request.dim]:
        prior = priors_of([name], request.dim, request.cost)[0]
        duel = torch_duel(
            value_map.spec, values, prior, JUDGED_PRICE, draws=request.draws, seed=request.seed, device=request.device
        )
        rows.append(row_of(name, JUDGED_PRICE, duel))
        progress(
            request.settings.runs + len(rows),
            _parts(request),
            f"{name}: net utility {rows[-1].net:.4f}, {rows[-1].gap:+.4f} ± {rows[-1].gap_error:.4f} on depth 2",
        )
    return rows


def _parts(request: BuildRequest) -> int:
    return request.settings.runs + (len(PAPER_NAMES[request.dim]) if request.draws else 0)


def _with_ranges(spec: MapSpec, game: Game, anchors: Beliefs) -> MapSpec:
    """Typical price and noise over lambda among the first beliefs of the training: `map_spec.in_units_of_lambda`."""
    rng = torch.Generator(device=game.device).manual_seed(0)
    view = root(game, scattered(anchors, 16_384, rng, game))
    noise = view.score_noise[:, 0, 0, 0]
    scale = (view.sd[:, 0, 0, 0].square().amax(-1) + (0.1 * noise) ** 2).sqrt()
    price = view.price[:, 0, 0, 0].log().mean(-1).exp()

    def typical(values: torch.Tensor) -> tuple[float, float]:
        low, high = np.quantile(values.cpu().numpy(), _TYPICAL)
        return float(low), float(high)

    cheapest, highest = typical(price / scale)
    least = _CHEAPEST_2D_RECALL if spec.dim == 2 and spec.recall else _CHEAPEST
    return replace(spec, prices=(max(cheapest, least), highest), noises=typical(noise / scale))


def _name_of(prior: str | Prior) -> str:
    if isinstance(prior, str):
        return prior
    parts = (prior.belief.score.mean, prior.belief.score.cov, prior.belief.cost.mean, prior.belief.cost.cov)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts))
    digest.update(repr((prior.model.score_noise, prior.model.cost_noise)).encode())
    return f"own-{digest.hexdigest()[:16]}"


@contextlib.contextmanager
def fast_products(device: str) -> Iterator[None]:
    """TF32 matrix products on a GPU: three decimal digits, eight times the rate; a network needs no more."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if device == "cuda" else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
