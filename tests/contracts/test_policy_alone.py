"""Giving a policy changes the policy and nothing else; the paper's scale is asked for by name, everywhere alike."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train

import autobct
from autobct import Assessment, Categorical, Float, Int, Tuner, ei_per_cost, frugal, gittins, paper_prior, relaxed, tune
from autobct.run.config import parse
from autobct.run.journal_replay import tuner_of
from autobct.value.state import State, Terms

SPACES: dict[str, Any] = {
    "line": LINE,
    "square": SQUARE,
    "cube": {name: Float(0, 1) for name in "xyz"},
    "mixed": {"x": Float(0, 1), "n": Int(1, 64, log=True), "kind": Categorical(["a", "b", "c"])},
}
POLICIES = {"ei per cost": ei_per_cost(), "gittins": gittins(), "depth 1": relaxed(1)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("space", SPACES)
def test_prior_overhead_and_candidates_are_those_of_the_default(space: str, policy: str) -> None:
    plain, told = Tuner(SPACES[space], price=0.01), Tuner(SPACES[space], price=0.01, policy=POLICIES[policy])
    for score in (0.5, None, 0.7):
        decision = ask_train(plain)
        plain.tell(decision, score, 1.0, error="failed" if score is None else None)
    told.replay(plain.history)
    for one, two in (
        (plain.problem, told.problem),
        (Tuner(SPACES[space], price=0.01).problem, told.twin(fresh=True).problem),
    ):
        np.testing.assert_array_equal(one.controls, two.controls)
        assert one.terms == two.terms
        assert one.stated == two.stated
        for belief in ("score", "cost"):
            ours, theirs = getattr(one.prior.belief, belief), getattr(two.prior.belief, belief)
            np.testing.assert_array_equal(ours.mean, theirs.mean)
            np.testing.assert_array_equal(ours.cov, theirs.cov)
    assert told.belief.score.mean.tolist() == plain.belief.score.mean.tolist()


def test_a_policy_is_told_the_candidates_as_they_are_now() -> None:
    """Beyond two numbers they are searched for anew after every run."""
    seen = []

    def policy(controls: np.ndarray, seed: int) -> Any:
        def assess(state: State, terms: Terms, runs: int) -> Assessment:
            seen.append((len(controls), state.size))
            return Assessment.by_value(state.score.mean + 1.0)

        return assess

    tuner = Tuner(SPACES["cube"], price=0.01, policy=policy)
    for _ in range(3):
        tuner.tell(ask_train(tuner), 0.5, 1.0)
    assert all(told == there for told, there in seen)
    assert len(set(seen)) > 1


def test_the_papers_scale_is_asked_for_by_name_everywhere() -> None:
    toml = (
        'command = "./train {x}"\nprice = 0.01\nprior = "paper"\n[space]\nx = { type = "float", low = 0, high = 1 }\n'
    )
    tuners = [
        Tuner(LINE, price=0.01, prior="paper"),
        tune(lambda params: (params["x"], 1.0), LINE, price=0.01, prior="paper", max_runs=1).tuner,
        tuner_of(parse(toml, lambda file: "")),
    ]
    for tuner in tuners:
        assert tuner.problem.prior.ensemble is None
        assert tuner.problem.stated.prior is None  # ranges may still be widened
        assert tuner.settings["prior"] == "paper"
        np.testing.assert_array_equal(tuner.problem.prior.belief.score.cov, tuners[0].problem.prior.belief.score.cov)
    assert Tuner(LINE, price=0.01, prior="synthetic").problem.prior is paper_prior("synthetic")
    assert Tuner(LINE, price=0.01).settings["prior"] == "default"


def test_hints_shape_the_default_belief_only() -> None:
    with pytest.raises(ValueError, match="leave them out with a prior"):
        Tuner(LINE, price=0.01, prior="paper", guess={"x": 0.3})


def test_what_is_no_assessment_is_refused_with_what_to_write() -> None:
    def policy(found: Any) -> Any:
        return lambda controls, seed: lambda state, terms, runs: found

    with pytest.raises(TypeError, match=r"must return an Assessment, got ndarray; write e.g. Assessment.by_value\(v"):
        Tuner(LINE, price=0.01, policy=policy(np.zeros(101))).ask()
    with pytest.raises(ValueError, match=r"must return a value for each of 101 candidates, got shape \(3,\)"):
        Tuner(LINE, price=0.01, policy=policy(Assessment.by_value(np.zeros(3)))).ask()


def test_the_former_name_is_the_same_policy() -> None:
    assert frugal is ei_per_cost


def test_nobody_asks_what_kind_a_policy_is() -> None:
    """No isinstance on the classes of policies, or on anything that is called a policy, in the whole package."""
    kinds = {"MapPolicy", "OneRunFirst", "ByValue", "Policy", "Assess"}
    found = []
    for path in Path(autobct.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                found += [f"{path.name}:{node.lineno}"] if names & kinds else []
    assert found == []
