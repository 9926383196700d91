"""What a notebook shows of a result and of a tuner."""

import sys

import pytest
from tests.report.cases import HOSTILE, Document, many, one, told

import autobct


def test_a_result_shows_its_answer():
    result = many()
    document = Document(result._repr_html_())
    assert result.why in document.text
    assert f"{result.score:.4g}" in document.text
    assert all(name in document.text for name in result.params)
    assert len([attributes for attributes in document.all("svg") if attributes.get("role") == "img"]) == 1


def test_a_tuner_says_what_it_would_do_next():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), 2)
    document = Document(tuner._repr_html_())
    assert "Best so far, after 2 runs. Next: Train x=" in document.text
    assert len(tuner.history) == 2  # to look at it starts nothing
    assert tuner.ask().trial == 2


def test_a_tuner_without_a_run_can_be_looked_at():
    text = Document(autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01)._repr_html_()).text
    assert "No run has finished yet. Next: Train x=" in text


def test_nothing_becomes_markup():
    tuner, _ = told(autobct.Tuner({HOSTILE: autobct.Categorical([HOSTILE, "b"])}, price=0.01), 1)
    document = Document(tuner._repr_html_())
    assert not document.all("script")
    assert not document.all("img")
    assert not any(name.startswith("on") for _, attributes in document.elements for name in attributes)


def test_it_needs_neither_jinja_nor_matplotlib(monkeypatch):
    result = one()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert result._repr_html_()


def test_its_style_stays_within():
    (start, _, _) = one()._repr_html_().partition("</style>")
    rules = start.partition("<style>")[2].split("}")
    assert all(rule.strip().startswith(".abct") for rule in rules if rule.strip())


def test_a_page_without_jinja_names_the_install_line(monkeypatch, tmp_path):
    from autobct.report import page

    page._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'autobct\[report\]'"):
        one().report(tmp_path / "run.html")
    assert not list(tmp_path.iterdir())
