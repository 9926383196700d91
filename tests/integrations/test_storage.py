"""A tuning in a database: addresses, passwords, and whose study it is."""

from __future__ import annotations

import gc
import sqlite3
from pathlib import Path
from typing import Any

import optuna
import pytest
from sqlalchemy.exc import OperationalError
from tests.faults.work import SPACE, outcome, settings, trained, undisturbed

import autobct
from autobct import Float, Int, Storage, StorageError
from autobct.integrations.storage import shared
from autobct.integrations.storage.patience import Patience
from autobct.tuning.decide.search import Candidates
from autobct.tuning.storage import masked, without_secrets

optuna.logging.set_verbosity(optuna.logging.ERROR)


def tuned(address: str, runs: int = 3, **changed: Any) -> autobct.Result:
    return autobct.tune(trained, SPACE, storage=address, **(settings(runs) | changed))


@pytest.mark.parametrize("where", ["sqlite:///{}/run.db", "{}/kept"])
def test_a_tuning_in_pieces_is_the_tuning_in_one(where: str, tmp_path: Path) -> None:
    address = where.format(tmp_path)
    made = [len(tuned(address, runs).history) for runs in (1, 5, 5)] if "sqlite" in where else []
    assert made in ([1, 5, 5], [])
    assert outcome(tuned(address, 9)) == outcome(undisturbed(9))
    again = autobct.tune(lambda params: 1 / 0, SPACE, storage=address, **settings(9))
    assert outcome(again) == outcome(undisturbed(9))


def test_the_time_that_was_charged_for_deciding_is_kept(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"

    def timed(params: dict[str, Any]) -> float:
        return trained(params)[0]

    given: dict[str, Any] = {"price": "0.0001 per 1s", "storage": address}
    first = autobct.tune(timed, SPACE, max_runs=4, **given)
    again = autobct.tune(timed, SPACE, max_runs=4, **given)
    paid = sum(run.cost for run in first.history)
    assert [run.cost for run in again.history] == [run.cost for run in first.history]
    assert again.total_cost > paid
    assert outcome(again)[0][:-1] == outcome(first)[0][:-1]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("sqlite://run.db", "write 'sqlite:///run.db', with three slashes"),
        ("sqlite:run.db", "write 'sqlite:///run.db', with three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlit:///run.db", "'sqlit' is not a supported kind of database"),
        ("mysql://me:secret-word@host/db", "'mysql' is not a supported kind of database"),
        ("postgres://me:secret-word@host/db", "'postgres' is not a supported kind of database"),
        ("postgresql:/me:secret-word@host/db", "has no host"),
        ("postgresql://me:secret-word@host", "names no database"),
        ("postgresql+asyncpg://me:secret-word@host/db", "without a driver"),
        ("postgresql://me:secret-word@host:port/db", "is not an address"),
        ("postgresql://me:secret-word@127.0.0.1:1/db", "does not answer"),
        ("://run.db", "is not an address"),
        ("  ", "storage is empty"),
        ("sqlite:///no/such/folder/run.db", "there is no folder 'no/such/folder'"),
    ],
)
def test_an_address_with_a_typo_is_refused_in_one_sentence(
    address: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError) as refused:
        tuned(Storage(address, patience=0.1))  # type: ignore[arg-type]
    assert sentence in str(refused.value)
    assert "secret-word" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:p@ss/wörd@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host:5432/db?password=abc&x=1", "postgresql://me@host:5432/db?password=***&x=1"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql://me:abc", "postgresql://me:***"),
        ("me:abc@host/db", "me:***@host/db"),
        ("sqlite:///C:/runs/run.db", "sqlite:///C:/runs/run.db"),
        ("./my-tuning", "./my-tuning"),
    ],
)
def test_passwords_are_masked(address: str, shown: str) -> None:
    assert masked(address) == shown


def test_no_message_has_the_password_in_any_spelling() -> None:
    address = "postgresql://me:p%40ss%2Fword@host/db?sslpassword=other+one"
    storage = Storage(address)
    said = "could not connect with p@ss/word or p%40ss%2Fword, other one, at " + address
    for text in (without_secrets(said, address), repr(storage), str(storage), storage.shown):
        assert "ss/word" not in text
        assert "ss%2Fword" not in text
        assert "other one" not in text
        assert "other+one" not in text

    def away() -> None:
        raise OperationalError("SELECT 1", {}, Exception(said))

    with pytest.raises(StorageError) as refused:
        Patience(storage, 0.01)(away)
    assert "ss/word" not in str(refused.value)
    assert "2Fword" not in str(refused.value)


def test_a_database_that_comes_back_is_not_given_up() -> None:
    tries = iter(range(4))

    def away() -> str:
        if next(tries) < 3:
            raise OperationalError("SELECT 1", {}, Exception("the database system is starting up"))
        return "back"

    assert Patience(Storage("postgresql://host/db"), 60.0)(away) == "back"


def test_what_is_waited_for_is_said_once_and_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.integrations.storage.patience._SILENT", 0.0)
    heard, left = list[str](), iter(range(3))

    def away() -> str:
        for _ in left:
            raise OperationalError("select 1", None, Exception("server at s3cret closed the connection"))
        return "back"

    patience = Patience(Storage("postgresql://me:s3cret@host/db"), 60.0, waiting=heard.append)
    assert patience(away) == "back"
    assert heard == [
        "The database 'postgresql://me:***@host/db' does not answer: server at *** closed the connection; "
        "trying again for 60 s."
    ]


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"price": 2e-6}, "price"), ({"direction": "minimize"}, "direction"), ({"score_noise": 0.1}, "score_noise")],
)
def test_a_study_of_another_problem_is_refused(changed: dict[str, Any], named: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"
    tuned(address)
    before = rows(tmp_path / "run.db")
    with pytest.raises(StorageError, match=rf"the study 'autobct' in .* is of another problem: {named} differs; "):
        tuned(address, **changed)
    with pytest.raises(StorageError, match="is of another problem: space differs"):
        autobct.tune(trained, SPACE | {"k": Int(1, 10)}, storage=address, **settings(3))
    with pytest.raises(StorageError, match="is of another problem: on_crash differs"):
        tuned(Storage(address, on_crash="fail"))  # type: ignore[arg-type]
    assert rows(tmp_path / "run.db") == before
    tuned(Storage(address, study="another"), **changed)  # type: ignore[arg-type]


def test_a_study_of_somebody_else_is_refused(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"
    study = optuna.create_study(study_name="autobct", storage=address)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    before = rows(tmp_path / "run.db")
    with pytest.raises(StorageError, match=r"was not made by autobct\.tune"):
        tuned(address)
    assert rows(tmp_path / "run.db") == before
    ours = Storage(address, study="ours")
    tuned(ours)  # type: ignore[arg-type]
    optuna.load_study(study_name="ours", storage=address).add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(StorageError, match=r"trial 3 of the study was not started by autobct\.tune"):
        tuned(ours)  # type: ignore[arg-type]


@pytest.mark.parametrize(("version", "sentence"), [("v99.0.0", "a newer Optuna"), ("v3.0.0.a", "an older Optuna")])
def test_a_database_of_another_version_is_not_touched(version: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    tuned(f"sqlite:///{path}")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE alembic_version SET version_num = ?", [version])
        file.execute("DROP TABLE trial_heartbeats")  # as if this version had never heard of it
    file.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=sentence):
        tuned(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 1000)
    with pytest.raises(StorageError, match="is damaged, file is not a database"):
        tuned(f"sqlite:///{path}")
    with pytest.raises(StorageError, match="is not a file"):
        tuned(f"sqlite:///{tmp_path}")
    assert path.read_text() == "not a database " * 1000
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_other_kinds_of_storage_are_refused() -> None:
    with pytest.raises(TypeError, match="storage must be a folder or an address, got int"):
        tuned(3)  # type: ignore[arg-type]
    for wrong in ({"on_crash": "ignore"}, {"study": ""}, {"grace": 0.0}, {"patience": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Storage("sqlite:///run.db", **wrong)  # type: ignore[arg-type]


def test_choices_that_are_objects_and_conditions(tmp_path: Path) -> None:
    space = {
        "f": autobct.Categorical([max, min]),
        "x": Float(0, 1),
        "z": Float(0.1, 1, log=True, when={"f": max}),
        "c": Int(3, 3),
    }

    def train(params: dict[str, Any]) -> tuple[float, float]:
        assert params["c"] == 3
        assert ("z" in params) == (params["f"] is max)
        return params["f"](params["x"], 0.5), 1.0

    plain = autobct.tune(train, space, price=1e-6, max_runs=6)
    address = f"sqlite:///{tmp_path}/run.db"
    kept = [autobct.tune(train, space, price=1e-6, max_runs=runs, storage=address) for runs in (3, 6)]
    assert [run.params for run in kept[1].history] == [run.params for run in plain.history]
    assert [run.score for run in kept[1].history] == [run.score for run in plain.history]


def rows(path: Path) -> list[str]:
    """Everything in a database."""
    with sqlite3.connect(path) as file:
        found = list(file.iterdump())
    file.close()
    return found


def test_an_outcome_that_cannot_be_stored_is_no_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says what is lost; the run is made again by the next call."""
    address = f"sqlite:///{tmp_path}/run.db"

    def away(*arguments: object) -> None:
        raise StorageError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr("autobct.integrations.storage.study.SharedStudy.finish", away)
        with pytest.raises(StorageError, match=r"the database is away; run 1 \(score .*, cost .*\) is not stored"):
            tuned(address)
    assert outcome(tuned(address)) == outcome(undisturbed(3))


def test_neither_trials_nor_candidates_are_kept_after_their_run(tmp_path: Path) -> None:
    """A worker remembers its runs, below 2 kB each.  A trial of Optuna is 10 kB, the candidates of a decision 500."""
    gc.collect()
    earlier = [thing for thing in gc.get_objects() if isinstance(thing, Candidates | optuna.trial.FrozenTrial)]
    known = {id(thing) for thing in earlier}
    tuner = autobct.Tuner(SPACE, **settings(12))
    with shared(tuner, Storage(f"sqlite:///{tmp_path}/run.db")) as worker:
        while isinstance(decision := worker.ask(), autobct.Train):
            worker.tell(decision, *trained(dict(decision.params)))
        gc.collect()
        things = [thing for thing in gc.get_objects() if id(thing) not in known]
        assert len(worker.tuner.history) == 12
        assert [thing.number for thing in things if isinstance(thing, optuna.trial.FrozenTrial)] == []
        assert sum(isinstance(thing, Candidates) for thing in things) <= 3
