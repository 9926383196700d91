"""What is printed, stored and written on the page, on made-up lines."""

from __future__ import annotations

import sys

import peer_report
import peers
import pytest
from peer_cells import code
from peer_list import HERE, PEERS
from peer_table import Line, Row
from tasks import LEVELS, Task

import autobct

NAMES = ("a", "b", "c")


def line(label: str, captured: float, *, hindsight: bool = False) -> Line:
    rows = {level: Row(captured, 0.01, 5.0, 7.5, 0.9, 4 if hindsight else None) for level in LEVELS}
    by_task = {name: {level: [captured, captured + 0.01 * k] for level in LEVELS} for k, name in enumerate(NAMES)}
    return Line(label, hindsight, rows, by_task, 0.012)


@pytest.fixture
def tasks():
    return [
        Task(name, "family", {"x": autobct.Float(0, 1)}, lambda points: (points[:, 0], points[:, 0]), (0, 1), 0.0)
        for name in NAMES
    ]


@pytest.fixture
def places(tmp_path, monkeypatch):
    for name, file in (("RESULTS", "peers.json"), ("PAGE", "peers.md"), ("FIGURE", "peers.png")):
        monkeypatch.setattr(peer_report, name, tmp_path / file)
    page = "# Peers\n" + "".join(
        f"<!-- {n} -->\n<!-- end of {n} -->\n" for n in ("table", "pairs", "families", "about")
    )
    (tmp_path / "peers.md").write_text(page)
    return tmp_path


def test_what_is_written_is_read_back_and_other_lines_stay(places, tasks):
    peer_report.write({"random": line("random search, best k *", 0.3, hindsight=True)}, tasks)
    peer_report.write({"autobct": line("autobct", 0.5)}, tasks)
    found = peer_report.stored()
    assert list(found) == ["autobct", "random"]
    assert found["random"].rows == line("", 0.3, hindsight=True).rows
    assert found["random"].by_task == line("", 0.3).by_task
    assert (places / "peers.png").stat().st_size > 1000


def test_the_page_has_each_part_once_however_often_it_is_written(places, tasks):
    for _ in range(2):
        peer_report.write({"autobct": line("autobct", 0.5), "flaml-cfo": line("FLAML CFO", 0.7)}, tasks)
    page = (places / "peers.md").read_text()
    assert page.count("<!-- table -->") == page.count("<!-- end of table -->") == 1
    assert page.count("| 0.500 ± 0.010") == len(LEVELS)
    assert page.count("-0.200 ± 0.000 **behind**") == len(LEVELS)
    assert page.count("| autobct   | family |") == 1


def test_the_standing_is_against_the_stored_lines(places, tasks):
    peer_report.write({"random": line("random search, best k *", 0.3, hindsight=True)}, tasks)
    text = peer_report.standing({"autobct": line("autobct", 0.5)})
    assert text.count("+0.200 ± 0.000 **ahead**") == len(LEVELS)
    assert "-0.350" in text  # from the target
    assert "random search" in text


def test_the_truth_is_compared_on_the_same_seeds():
    text = peer_report.limits(line("autobct", 0.5), {"stop": dict.fromkeys(LEVELS, 0.75)}, seeds=1)
    assert text.count("0.500") == len(LEVELS)
    assert text.count("0.750") == len(LEVELS)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tuners", "moon"], "there is no tuner moon"),
        (["--oracle", "moon"], "there is no oracle moon"),
        (["--quick", "--write"], "leave out --quick"),
    ],
)
def test_what_is_asked_wrongly_is_said(words, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers.py", *words])
    with pytest.raises(SystemExit):
        peers.main()
    assert sentence in capsys.readouterr().err


def test_without_data_it_says_what_to_get(monkeypatch):
    monkeypatch.delenv("AUTOBCT_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["peers.py", "--quick"])
    with pytest.raises(SystemExit, match="YAHPO Gym"):
        peers.main()


def test_a_play_is_wanted_once_for_each_price_that_matters(tasks):
    keys = list(peers.wanted(["autobct", "random"], tasks, seeds=2))
    assert len(keys) == len(set(keys)) == 2 * (len(LEVELS) + 1) * len(NAMES)
    assert {key[4] for key in keys if key[0] == "autobct"} == {code()}
    assert {(key[2], key[4]) for key in keys if key[0] == "random"} == {(None, "")}


def test_peers_with_an_environment_have_their_versions_pinned():
    for package in {entry.package for entry in PEERS.values()} - {None}:
        pinned = (HERE / "peer_requirements" / f"{package}.txt").read_text().splitlines()
        assert any(row.lower().startswith(f"{package}==") for row in pinned)
        assert all("==" in row for row in pinned)
