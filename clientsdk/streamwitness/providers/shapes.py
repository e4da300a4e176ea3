"""A format's events as msgspec structs, made from bytes in the fast way or from fields of any type in the lenient way.

A struct names the fields that a reading needs, with the types that the format documents; everything else is skipped
unseen. `decode` is the ordinary way. `lenient` takes what the fast way refuses (a field of another type is as good as
absent) and what an application's own parser made of the event. Where both succeed they agree: a test checks each shape.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from .objects import fields

S = TypeVar("S", bound=msgspec.Struct)
_Convert = Callable[[Any], Any]
_Field = tuple[str, str, type | None, _Convert]
"""Name as it is sent, own name, class of the values that need no conversion, conversion."""
_AS_THEY_ARE: Final = frozenset((str, bool))
_TOO_LONG: Final = 10**4300
"""Python neither reads nor writes longer numbers as text."""


class Shape(Generic[S]):
    """Both ways to make a struct of `str`, `int`, `bool`, `Any`, dicts, lists, structs and lists of structs."""

    __slots__ = ("_fields", "_struct", "decode", "names")

    def __init__(self, struct: type[S]) -> None:
        self._struct = struct
        self.decode: Callable[[bytes], S] = msgspec.json.Decoder(struct).decode
        """JSON → struct; raises ValueError or RecursionError where a type differs or the bytes are no JSON."""
        hints = typing.get_type_hints(struct)
        sent = struct.__struct_encode_fields__
        self._fields: tuple[_Field, ...] = tuple(
            (name, own, *_taken(hints[own])) for own, name in zip(struct.__struct_fields__, sent, strict=True)
        )
        self.names: Final = frozenset(sent)
        """Names of the fields as they are sent."""

    def lenient(self, known: Mapping[str, Any]) -> S:
        """Fields of any type → struct."""
        made: dict[str, Any] = {}
        get = known.get
        for sent, own, plain, convert in self._fields:
            value = get(sent)
            if value is not None and (value.__class__ is plain or (value := convert(value)) is not None):
                made[own] = value
        return self._struct(**made)


def _taken(hint: Any) -> tuple[type | None, _Convert]:
    """The class whose values are taken as they are (None: there is no such), and what makes a value of any other."""
    plain = next((option for option in _options(hint) if option in _AS_THEY_ARE), None)
    return plain, _converter(hint)


def _options(hint: Any) -> tuple[Any, ...]:
    """The types that a value may have, None apart."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return (hint,)
    return tuple(option for option in typing.get_args(hint) if option is not type(None))


def _converter(hint: Any) -> _Convert:
    """What makes a value of this type, or None, of any value."""
    options = _options(hint)
    if len(options) > 1:
        converters = [_converter(option) for option in options]
        return lambda value: _first(converters, value)
    (hint,) = options
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if typing.get_origin(hint) is list:
        return _list_of(typing.get_args(hint)[0])
    if typing.get_origin(hint) is dict:
        return lambda value: value if isinstance(value, dict) else None
    return _struct_of(Shape(hint))


def _first(options: list[_Convert], value: Any) -> Any:
    return next((made for convert in options if (made := convert(value)) is not None), None)


def _list_of(item: Any) -> _Convert:
    """Items that cannot be used are left out; any list will do where the items may be anything."""
    if item is Any:
        return lambda value: value if isinstance(value, list) else None
    convert = _converter(item)
    return lambda value: (
        [made for each in value if (made := convert(each)) is not None] if isinstance(value, list) else None
    )


def _struct_of(shape: Shape[Any]) -> _Convert:
    def convert(value: Any) -> Any:
        if value.__class__ is dict:
            return shape.lenient(value)
        known = None if isinstance(value, (str, bytes, int, float)) else fields(value)
        return None if known is None else shape.lenient(known)

    return convert


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    whole = isinstance(value, int) and not isinstance(value, bool) and -_TOO_LONG < value < _TOO_LONG
    return value if whole else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_SIMPLE: Final[dict[Any, _Convert]] = {str: _text, int: _integer, bool: _truth, Any: lambda value: value}
