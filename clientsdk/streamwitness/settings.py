"""Settings as frozen dataclasses, read from a mapping: one table per part gives the options, variables and docs.

    @dataclass(frozen=True)
    class ServerSettings:
        port: int = setting(4318, "port to listen on; 0 takes a free one")

        def __post_init__(self) -> None:
            require(0 <= self.port <= 65535, "port", self.port, "0 to 65535")

    load(ServerSettings, environ=os.environ, overrides={"port": args.port})

The field `port` is the argument `port`, the option `--port` and the variable `STREAMWITNESS_PORT`; an argument or
option wins over the variable, the variable over the default. Every fault is a SettingsError whose message names the
key; an unknown key is named together with the nearest known one. Pure: reads what it is given, no environment, no file.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeVar, Union, get_args, get_origin

T = TypeVar("T")

PREFIX: Final = "STREAMWITNESS_"

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "client": (
        "endpoint",
        "key",
        "mode",
        "level",
        "sample",
        "origins",
        "include",
        "exclude",
        "stamp_paths",
        "profiles",
        "service",
    ),
    "collector": (
        "host",
        "port",
        "kafka",
        "topic",
        "kafka_compression",
        "kafka_timeout",
        "max_body_bytes",
        "max_decoded_bytes",
        "max_span_bytes",
        "max_message_bytes",
        "max_waiting_bytes",
        "keys",
        "default_role",
    ),
    "analyzer": (
        "database",
        "group",
        "settle_after",
        "idle_after",
        "max_blocks",
        "default_role",
        "query_key",
        "server",
    ),
    "tests": ("require",),
}
"""Every setting of every part. A variable of another part is no typo; a test holds this table to the classes."""

_NEAR: Final = 0.66
"""difflib ratio from which an unknown name counts as a misspelling (`kafak`, `keyz`), and not as somebody else's
variable (`collector_service_host`, which Kubernetes sets for a service named streamwitness-collector)."""


class SettingsError(ValueError):
    """A setting is unknown or has an impossible value; the message names it and says what is possible."""


def setting(default: Any, help: str, *, secret: bool = False) -> Any:
    """A settings field with its documentation; the value of a `secret` one never appears in a message."""
    return dataclasses.field(default=default, metadata={"help": help, "secret": secret})


def require(holds: bool, name: str, value: object, possible: str) -> None:
    """For `__post_init__`: raise SettingsError unless `holds`, saying what is possible for the field `name`."""
    if not holds:
        raise SettingsError(f"{label(name)} is {value!r}; possible: {possible}")


def variable(name: str, prefix: str = PREFIX) -> str:
    """The environment variable of the field `name`."""
    return prefix + name.upper()


def flag(name: str) -> str:
    """The command line option of the field `name`."""
    return "--" + name.replace("_", "-")


def label(name: str) -> str:
    """How messages call the field `name`, so that it is found whether it was given as option or variable."""
    return f"{flag(name)} ({variable(name)})"


# --------------------------------------------------------------------------- the table of a class


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a class, as options, variables and documentation tables need it."""

    name: str
    flag: str
    variable: str
    kind: Any
    default: Any
    help: str
    secret: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """The possible words of an enum setting; empty for every other type."""
        return tuple(get_args(self.kind)) if get_origin(self.kind) is Literal else ()

    @property
    def default_text(self) -> str:
        """The default as one would write it in a variable; empty where there is none."""
        if self.default is None or self.default is dataclasses.MISSING:
            return ""
        return ",".join(self.default) if isinstance(self.default, tuple) else str(self.default)


def options(cls: type) -> tuple[Option, ...]:
    """The settings of `cls` in the order of its fields."""
    kinds = typing.get_type_hints(cls)
    return tuple(
        Option(
            field.name,
            flag(field.name),
            variable(field.name),
            _plain(kinds[field.name]),
            field.default,
            field.metadata.get("help", ""),
            field.metadata.get("secret", False),
        )
        for field in dataclasses.fields(cls)
    )


# --------------------------------------------------------------------------- loading


def load(
    cls: type[T],
    *,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any] = types.MappingProxyType({}),
    prefix: str = PREFIX,
) -> T:
    """Make `cls` from `overrides` (arguments, options), then `environ` (variables), then its defaults.

    An override of None and an empty variable count as not given. Texts are converted to the field's type (`str`,
    `int`, `float`, `bool`, `tuple[str, ...]` separated by commas, `Literal[…]`, any of them `| None`); an override
    may also be of that type already. Raises SettingsError.
    """
    known = {option.name: option for option in options(cls)}
    _refuse_unknown(overrides, environ, known, prefix)
    values: dict[str, Any] = {}
    for name, option in known.items():
        if (given := overrides.get(name)) is not None:
            values[name] = _typed(option, given)
        elif text := environ.get(variable(name, prefix), "").strip():
            values[name] = convert(option, text)
    return cls(**values)


def convert(option: Option, text: str) -> Any:
    """The value that `text` stands for; raises SettingsError."""
    if choices := option.choices:
        return text if text in choices else _refuse(option, text, _listed(choices, text))
    reader, possible = _READERS[option.kind]
    try:
        return reader(text.strip())
    except (ValueError, KeyError):
        return _refuse(option, text, possible)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is probably a misspelling of, or None."""
    import difflib  # only for messages: `import streamwitness` stays cheap

    return next(iter(difflib.get_close_matches(word, sorted(known), n=1, cutoff=_NEAR)), None)


def _refuse_unknown(
    overrides: Mapping[str, Any], environ: Mapping[str, str], known: Mapping[str, Option], prefix: str
) -> None:
    for name in overrides:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise SettingsError(f"unknown setting {name!r}; {hint}")
    everybody = {name for names in NAMES.values() for name in names} | known.keys()
    for key in environ:
        name = key[len(prefix) :].lower()
        if key.startswith(prefix) and name not in everybody and (near := nearest(name, everybody)):
            raise SettingsError(f"unknown variable {key}; did you mean {variable(near, prefix)}?")


def _typed(option: Option, value: Any) -> Any:
    """An override: text is converted, anything else must be of the field's type already."""
    if isinstance(value, str):
        return convert(option, value)
    if option.kind == _TEXTS and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if option.kind is float and type(value) is int:
        return float(value)
    if type(value) is option.kind:
        return value
    return _refuse(option, value, _READERS[option.kind][1] if option.kind in _READERS else "a text")


def _refuse(option: Option, value: object, possible: str) -> NoReturn:
    shown = "not understood" if option.secret else repr(value)
    raise SettingsError(f"{label(option.name)} is {shown}; possible: {possible}")


def _listed(choices: tuple[str, ...], text: str) -> str:
    near = nearest(text, choices)
    return ", ".join(choices) + (f" (did you mean {near!r}?)" if near else "")


def _plain(kind: Any) -> Any:
    """`X | None` as X: not given and None are the same."""
    if get_origin(kind) in (Union, types.UnionType):
        inner = [part for part in get_args(kind) if part is not type(None)]
        return inner[0] if len(inner) == 1 else kind
    return kind


def _texts(text: str) -> tuple[str, ...]:
    return tuple(item for part in text.split(",") if (item := part.strip()))


_TEXTS: Final[Any] = tuple[str, ...]
_BOOLS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_READERS: Final[dict[Any, tuple[Callable[[str], Any], str]]] = {
    str: (str, "a text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (lambda text: _BOOLS[text.lower()], "true or false"),
    _TEXTS: (_texts, "texts separated by commas"),
}
"""Type of a field → how its text is read, and what a message says is possible."""
