"""What a model says, apart from any format: acts, and answers made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Act(NamedTuple):
    """One thing that is said: `kind` is a key of `CONTENT`, or finish, error, or one of those that say nothing."""

    kind: str
    text: str = ""
    choice: int = 0


class Event(NamedTuple):
    """One event of a body; `raw` are its bytes as they came, empty where it is new. A comment has no data."""

    name: str
    data: str
    raw: bytes = b""
    comment: bool = False


CONTENT: Final = frozenset(("text", "reason", "refusal", "tool", "args"))
"""Kinds of act that are model output."""

DONE: Final = "[DONE]"

_WORDS: Final = (
    "alder ", "birch ", "cedar ", "dogwood ", "elm ", "fir ", "ginkgo ", "hazel ", "ironwood ", "juniper ", "katsura ",
    "larch ",
)  # fmt: skip


def token(act: Act) -> str:
    """What can be told apart of an act wherever events are compared by what they say; empty where it says nothing."""
    if act.kind in CONTENT:
        return f"{act.choice}/{act.kind}:{act.text}" if act.text else ""
    return f"{act.choice}/{act.kind}:{act.text}" if act.kind in ("finish", "error") else ""


def answer(name: str) -> list[Act]:
    """The acts of a whole answer, `name` or `name:n`. Raises KeyError for one that is not there."""
    name, _, n = name.partition(":")
    return [Act("role"), *ANSWERS[name](int(n) if n else 0)]


def _texts(*words: str) -> Iterator[Act]:
    return (Act("text", word) for word in words)


def _end(finish: str = "stop", *, choices: int = 1) -> Iterator[Act]:
    yield from (Act("finish", finish, choice) for choice in range(choices))
    yield Act("terminal")


def _plain(n: int) -> Iterator[Act]:
    yield from _texts(*(_WORDS[:n] if n else _WORDS[:9]))
    yield from _end()


def _equal(n: int) -> Iterator[Act]:
    yield from _texts(*["ha "] * (n or 8))
    yield from _end()


def _pairs(_: int) -> Iterator[Act]:
    for word in _WORDS[:5]:
        yield from _texts(word, word)
    yield from _end()


def _refrain(_: int) -> Iterator[Act]:
    yield from _texts(*(_WORDS[:3] * 4))
    yield from _end()


def _empty(_: int) -> Iterator[Act]:
    for word in _WORDS[:6]:
        yield from _texts("", word)
    yield from _texts("")
    yield from _end()


def _nothing(_: int) -> Iterator[Act]:
    return _end()


def _reasoning(_: int) -> Iterator[Act]:
    yield from (Act("reason", f"because {word}") for word in _WORDS[:4])
    yield from _texts(*_WORDS[4:9])
    yield from _end()


def _tools(n: int) -> Iterator[Act]:
    yield from _texts(*_WORDS[:3])
    for call in range(n or 2):
        yield Act("tool", f"look_up_{call}")
        yield from (Act("args", piece) for piece in ('{"pla', 'ce":"Brest', f'{call}"', "}"))
    yield from _end("tool_calls")


def _choices(_: int) -> Iterator[Act]:
    for i, word in enumerate(_WORDS[:10]):
        yield Act("text", word, i % 2)
    yield from _end(choices=2)


def _finished(finish: str) -> Callable[[int], Iterator[Act]]:
    def make(n: int) -> Iterator[Act]:
        yield from _texts(*_WORDS[: n or 7])
        yield from _end(finish)

    return make


def _heavy(n: int) -> Iterator[Act]:
    """More than the ways to a slow application hold."""
    yield from (Act("text", f"{_WORDS[i % 12]}{i} " * 3000) for i in range(n or 50))
    yield from _end()


def _long(n: int) -> Iterator[Act]:
    yield from (Act("text", f"{_WORDS[i % 12]}{i} ") for i in range(n or 60))
    yield from _end()


def _unicode(_: int) -> Iterator[Act]:
    yield from _texts(
        "été ", "日本 ", "one\N{LINE SEPARATOR}line ", "wave 👋🏽 ", 'quote " ', "back \\n ", "data: x ", "nel\x85 "
    )
    yield from _texts(*_WORDS[:3])
    yield from _end()


def _pings(_: int) -> Iterator[Act]:
    for i, word in enumerate(_WORDS[:8]):
        if i % 3 == 0:
            yield Act("ping")
        yield Act("text", word)
    yield from _end()


def _usage(_: int) -> Iterator[Act]:
    yield from _texts(*_WORDS[:7])
    yield Act("finish", "stop")
    yield Act("usage")
    yield Act("terminal")


def _no_terminator(_: int) -> Iterator[Act]:
    yield from _texts(*_WORDS[:7])
    yield Act("finish", "stop")


def _early_finish(_: int) -> Iterator[Act]:
    """A finish that was provisional: text follows it."""
    yield from _texts(*_WORDS[:4])
    yield Act("finish", "stop")
    yield from _texts(*_WORDS[4:8])
    yield from _end()


def _refusal(_: int) -> Iterator[Act]:
    yield from (Act("refusal", word) for word in _WORDS[:4])
    yield from _end()


def _error(n: int) -> Iterator[Act]:
    yield from _texts(*_WORDS[: n or 5])
    yield Act("error", "overloaded")


def _error_within(_: int) -> Iterator[Act]:
    """An error in the midst, and all the rest behind it."""
    yield from _texts(*_WORDS[:4])
    yield Act("error", "overloaded")
    yield from _texts(*_WORDS[4:9])
    yield from _end()


ANSWERS: Final[dict[str, Callable[[int], Iterator[Act]]]] = {
    "plain": _plain,
    "equal": _equal,
    "pairs": _pairs,
    "refrain": _refrain,
    "empty": _empty,
    "nothing": _nothing,
    "reasoning": _reasoning,
    "tools": _tools,
    "choices": _choices,
    "length": _finished("length"),
    "filter": _finished("content_filter"),
    "long": _long,
    "heavy": _heavy,
    "unicode": _unicode,
    "pings": _pings,
    "usage": _usage,
    "no_terminator": _no_terminator,
    "early_finish": _early_finish,
    "refusal": _refusal,
    "error": _error,
    "error_within": _error_within,
}
"""Name → the acts after the role; the number is a size where the answer has one."""
