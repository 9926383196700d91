"""Placeholders: filled in as they are, never looked at twice, never a shell."""

from __future__ import annotations

import json

import pytest

from autobct.run.toml_table import as_text, check_placeholders, filled, meant, placeholders


def test_a_value_is_put_in_as_it_is_and_not_read_again() -> None:
    values = {"a": "{b} $(x) {{", "b": "two words"}
    assert filled("--a={a} {b}{{}}", values) == "--a={b} $(x) {{ two words{}"


@pytest.mark.parametrize("text", ["{", "}", "{a", "a}", "{{}", "{a}}"])
def test_a_brace_alone_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match="has a single"):
        placeholders(text)


def test_a_name_that_is_not_a_parameter_is_a_mistake() -> None:
    assert check_placeholders("{depth} {seed}", ["depth"]) == ["depth", "seed"]
    with pytest.raises(ValueError, match=r"has \{dept\}, which is not a parameter; did you mean \{depth\}\?"):
        check_placeholders("{dept}", ["depth"])
    with pytest.raises(ValueError, match=r"there are \{depth\}, \{params_json\}"):
        check_placeholders("{}", ["depth"])


@pytest.mark.parametrize(("value", "text"), [(0.1, "0.1"), (1e-7, "1e-07"), (3, "3"), (True, "true"), ("a\n", "a\n")])
def test_values_as_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_floats_read_back_exactly() -> None:
    assert json.loads(as_text(0.1 + 0.2)) == 0.1 + 0.2


def test_meant() -> None:
    assert meant("pric", ["price", "prior"]) == "; did you mean price?"
    assert meant("xyz", ["a", "b"]) == "; there are a, b"
