"""Files of the training, in the strict container: checkpoints to go on from, and the surrogate as it is shipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from model import Network

from autobct.belief.surrogate.network_inputs import FACTS
from autobct.maps.container import pack, unpack

if TYPE_CHECKING:
    from train import Pupil


def save(file: Path, pupil: Pupil) -> None:
    """Weights, and the optimiser's moments in half precision."""
    tensors = {}
    for name, parameter in pupil.network.named_parameters():
        state = pupil.optimiser.state[parameter]
        tensors[f"w.{name}"] = parameter
        tensors[f"m.{name}"] = state["exp_avg"]
        tensors[f"v.{name}"] = state["exp_avg_sq"].sqrt()
        tensors["step"] = state["step"].reshape(1)
    arrays = {
        name: _array(t).astype(np.float16 if name[:2] in ("m.", "v.") else np.float32) for name, t in tensors.items()
    }
    file.write_bytes(pack(arrays, {"kind": "checkpoint"}))


def load(file: Path, pupil: Pupil) -> None:
    """Go on from a checkpoint."""
    tensors, _ = unpack(file.read_bytes())
    device = pupil.device
    with torch.no_grad():
        for place, (name, parameter) in enumerate(pupil.network.named_parameters()):
            parameter.copy_(torch.from_numpy(tensors[f"w.{name}"].copy()))
            pupil.average[place].copy_(parameter)
            pupil.optimiser.state[parameter] = {
                "step": torch.tensor(float(tensors["step"][0]), device=device),
                "exp_avg": torch.from_numpy(tensors[f"m.{name}"].copy()).float().to(device),
                "exp_avg_sq": torch.from_numpy(tensors[f"v.{name}"].copy()).float().to(device).square(),
            }


def begin(file: Path, pupil: Pupil) -> None:
    """The weights of a file that was shipped."""
    weights, _ = unpack(file.read_bytes())
    with torch.no_grad():
        for place, (name, parameter) in enumerate(pupil.network.named_parameters()):
            parameter.copy_(_read(weights, name))
            pupil.average[place].copy_(parameter)


def ship(file: Path, network: Network, notes: dict[str, str]) -> None:
    """Half precision: what a tuner evaluates."""
    weights = {name: _array(p).astype(np.float16) for name, p in network.named_parameters()}
    file.write_bytes(pack(weights, {"kind": "surrogate", **notes}))


def shipped(file: Path) -> Network:
    """The network of a file that was shipped, to be judged in torch."""
    weights, notes = unpack(file.read_bytes())
    network = Network(**{key: int(notes[key]) for key in ("width", "narrow", "layers")})
    network.load_state_dict({name: _read(weights, name) for name in weights})
    return network.eval()


def _read(weights: Mapping[str, np.ndarray], name: str) -> torch.Tensor:
    """In single precision.  What earlier networks did not read of a coordinate weighs nothing."""
    known = torch.from_numpy(weights[name].astype(np.float32))
    return torch.nn.functional.pad(known, (0, FACTS - known.shape[1])) if name == "fact.weight" else known


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
