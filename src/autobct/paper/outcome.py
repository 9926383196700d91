"""What one training of an experiment came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """score: as observed, higher is better;  seconds: of training and scoring;  extra: further scores by name."""

    score: float
    seconds: float
    extra: Mapping[str, float] = field(default_factory=dict)
