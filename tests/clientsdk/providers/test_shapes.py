"""Shapes: what each type of field makes of any value."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from streamwitness.providers.shapes import Shape


class _Inner(msgspec.Struct):
    text: str | None = None


class _Outer(msgspec.Struct, rename="camel"):
    a_text: str | None = None
    number: int | None = None
    truth: bool | None = None
    anything: Any = None
    either: str | list[Any] | None = None
    known: dict[str, Any] | None = None
    inner: _Inner | None = None
    inners: list[_Inner] | None = None


SHAPE = Shape(_Outer)


@pytest.mark.parametrize(
    ("sent", "own", "given", "made"),
    [
        ("aText", "a_text", "x", "x"),
        ("aText", "a_text", 5, None),
        ("number", "number", 5, 5),
        ("number", "number", 5.0, 5),
        ("number", "number", 5.5, None),
        ("number", "number", math.inf, None),
        ("number", "number", True, None),
        ("number", "number", "5", None),
        pytest.param("number", "number", 10**4300, None, id="huge"),
        ("truth", "truth", False, False),
        ("truth", "truth", 0, None),
        ("anything", "anything", [1], [1]),
        ("either", "either", "x", "x"),
        ("either", "either", [1], [1]),
        ("either", "either", {}, None),
        ("known", "known", {"a": 1}, {"a": 1}),
        ("known", "known", [], None),
        ("inner", "inner", {"text": "x", "more": 1}, _Inner("x")),
        ("inner", "inner", SimpleNamespace(text="x"), _Inner("x")),
        ("inner", "inner", "x", None),
        ("inners", "inners", [{"text": "x"}, 5, None, {"text": 5}], [_Inner("x"), _Inner()]),
        ("inners", "inners", {"text": "x"}, None),
    ],
)
def test_a_value_of_another_type_is_as_good_as_absent(sent: str, own: str, given: Any, made: Any) -> None:
    """By the name as it is sent, whatever the value is."""
    assert SHAPE.lenient({sent: given}) == _Outer(**({} if made is None else {own: made}))


def test_names_are_those_on_the_wire() -> None:
    """Objects of other people's have them."""
    assert {"aText", "number", "inners"} <= SHAPE.names


def test_the_fast_way_takes_no_other_type() -> None:
    """It raises, and the lenient way is asked."""
    for data in (b'{"number":true}', b'{"aText":5}', b"[]", b"oops", b'{"inners":[5]}'):
        with pytest.raises(ValueError, match=r"."):
            SHAPE.decode(data)
