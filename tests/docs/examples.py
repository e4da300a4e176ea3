"""An example of each finding, as `streamwitness show` prints it: small streams with one fault, really judged.

docs/verdict.md shows them. The blocks are what hooks would send (bench/truth/build.py). tests/test_docs.py
demands an example for every kind that can be concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.truth.build import DELIVERED_BY_SDK, LEG, Event, How, answer, handed_on, path, used
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import FOREIGN, MALFORMED, PROVIDER_NAME
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style
from tests.analyzer.judge.timed import Timed, stream

ANSWER: Final = answer(range(1, 9))
"""Eleven events: role, eight texts, finish, terminator."""
SDK: Final = handed_on(ANSWER)
_SHOWN: Final = "4c1d8e2b7a9f40538d6e1f2a3b4c5d6e"
_WIDTH: Final = 100


@dataclass(frozen=True)
class Example:
    """What happened, in a sentence, and the blocks that were sent about it."""

    story: str
    blocks: Callable[[], list[Block]]


def _without(events: Sequence[Event], *at: int) -> list[Event]:
    return [event for i, event in enumerate(events) if i not in at]


def _again(events: Sequence[Event], at: int) -> list[Event]:
    return [*events[: at + 1], *events[at:]]


def _swapped(events: Sequence[Event], at: int) -> list[Event]:
    return [*events[:at], events[at + 1], events[at], *events[at + 2 :]]


def _with(events: Sequence[Event], at: int, **changes: Any) -> list[Event]:
    return [replace(event, **changes) if i == at else event for i, event in enumerate(events)]


def _parser(parsed: Sequence[Event]) -> list[Block]:
    return path(ANSWER, ANSWER, ANSWER, parsed, used(parsed))


def _transport(wire: Sequence[Event]) -> list[Block]:
    return path(ANSWER, ANSWER, wire, handed_on(wire), used(handed_on(wire)))


def _gateway(egress: Sequence[Event]) -> list[Block]:
    return path(ANSWER, egress, egress, handed_on(egress), used(handed_on(egress)))


def _cut(wire: Sequence[Event]) -> list[Block]:
    """The client's connection was reset; the gateway had sent everything."""
    seen = handed_on(wire)
    ended = {
        "wire": How("wire", end="reset", complete=False),
        "parsed": How("parsed", delivers=DELIVERED_BY_SDK, end="reset", complete=False),
        "applied": How("applied", of="parsed", end="reset"),
    }
    return path(ANSWER, ANSWER, wire, seen, used(seen), **ended)


def _half_told(wire: Sequence[Event], *lost: tuple[str, int], end: str = "eof") -> list[Block]:
    """Gateway out and the client's bytes, in blocks of four events, some of which are lost on their way to us."""
    hows = {"egress": How("egress", size=4), "wire": How("wire", end=end, size=4)}
    blocks = path(None, ANSWER, wire, expected=("egress", "wire"), **hows)
    return [block for block in blocks if (block.point, block.index) not in lost]


def _raised(events: Sequence[Event], at: int, result: str) -> list[Event]:
    return [replace(e, result=result) if i == at else e for i, e in enumerate(used(events))]


def _finished_for_it() -> list[Block]:
    made_up = [*ANSWER[:6], ANSWER[-1]]
    return path(ANSWER[:6], made_up, made_up, ingress=How("ingress", leg=0, end="reset", complete=False))


def _unreadable(at: int) -> list[Block]:
    broken = _with(ANSWER, at, text=0, parts=MALFORMED, result="malformed", payload=1)
    blocks = path(ANSWER, broken, broken)
    for block in blocks:
        block.totals["malformed"] = int(block.point != "ingress")
    return blocks


def _after(end: int) -> list[Block]:
    """The terminator, and behind it what should have come before."""
    late = [replace(event, result="after_terminal") for event in ANSWER[end - 2 : -1]]
    sent = [*ANSWER[: end - 2], ANSWER[-1], *late]
    return path(sent, sent, sent, ingress=How("ingress", leg=0, extra=((PROVIDER_NAME, "openai"),)))


def _kept_otherwise() -> list[Block]:
    """What the application shows is two bytes short."""
    parsed = How("parsed", delivers=DELIVERED_BY_SDK, slots=("0/text/0 0000aaaa 36",))
    shown = How("applied", of="parsed", slots=("0/text/0 0000bbbb 34",))
    return path(ANSWER, ANSWER, ANSWER, SDK, used(SDK), parsed=parsed, applied=shown)


def _mixed() -> list[Block]:
    """One event more was applied, which another stream of the process had handed on."""
    mixed = How("applied", of="parsed", extra=((FOREIGN, 1),))
    return path(ANSWER, ANSWER, ANSWER, SDK, used(SDK), applied=mixed)


def _read_on(sent: int) -> list[Block]:
    """The client is gone as it has the last event that it gets; each event is read 50 ms after the one before."""
    hows = {"ingress": How("ingress", leg=0), "egress": How("egress", legs=(LEG,), end="disconnected")}
    ingress, egress = path(ANSWER, ANSWER[:sent], None, **hows)
    columns = {name: list(values) for name, values in ingress.columns().items()}
    columns |= {"t": [50_000 * max(0, i - sent + 2) for i in range(len(ANSWER))], "bytes": [80] * len(ANSWER)}
    timed = rows.encode(columns, len(ANSWER))
    return [replace(ingress, rows=timed, start_ns=0), replace(egress, end_ns=50_000_000)]


def _gathered() -> list[Block]:
    """One event a second comes in, and all go out behind the last of them."""
    came = [float(n) for n in range(1, len(ANSWER) + 1)]
    sent = [came[-1]] * len(ANSWER)
    points = [Timed(ANSWER, at, came[-1] + 0.1) for at in (came, sent, sent)]
    return stream(*points)


EXAMPLES: Final[dict[str, Example]] = {
    "gap": Example("A parser dropped an event and said nothing.", lambda: _parser(_without(SDK, 5))),
    "tail": Example("A proxy behind the gateway reset the connection.", lambda: _cut(ANSWER[:6])),
    "reorder": Example("A gateway with two workers swapped two events.", lambda: _gateway(_swapped(ANSWER, 4))),
    "duplicate": Example("A proxy sent an event twice.", lambda: _transport(_again(ANSWER, 4))),
    "fabricated": Example(
        "The provider broke off; the gateway finished the answer as if nothing had happened.",
        lambda: _finished_for_it(),
    ),
    "corrupt": Example("A proxy changed bytes of an event on its way.", lambda: _transport(_with(ANSWER, 3, text=77))),
    "altered": Example(
        "A gateway decoded text piece by piece and broke a letter.", lambda: _gateway(_with(ANSWER, 3, text=77))
    ),
    "malformed": Example("A gateway cut an event in two; nobody can read the halves.", lambda: _unreadable(3)),
    "after_terminal": Example(
        "A provider sent its terminator before the last words; whoever stops there has not had them.", lambda: _after(9)
    ),
    "partial": Example(
        "The application used the first of two texts in an event.",
        lambda: path(ANSWER, ANSWER, ANSWER, SDK, _raised(SDK, 4, "partial")),
    ),
    "misapplied": Example(
        "The application took up every event, and stripped the text before it kept it.", _kept_otherwise
    ),
    "cross_stream": Example(
        "The application read two answers at once, and built an event of one into the other.", _mixed
    ),
    "gap_or_late": Example(
        "The client stopped reading; before that an event had not come, and would perhaps have come later.",
        lambda: _half_told(_without(ANSWER[:9], 3), end="cancelled"),
    ),
    "extra": Example(
        "More came than was sent; a record of what was sent is lost, so copies and inventions look alike.",
        lambda: _half_told([*ANSWER[:6], Event(71), Event(72), *ANSWER[6:]], ("egress", 1), ("wire", 1)),
    ),
    "mismatch": Example(
        "Two events were exchanged for others; the record of the place is lost, the totals are not.",
        lambda: _half_told(_with(_with(ANSWER, 4, text=77), 6, text=78), ("wire", 1)),
    ),
    "delayed": Example(
        "The gateway gathered the answer, and sent it when it had it all; the client had nothing for nine seconds.",
        _gathered,
    ),
    "upstream_kept_running": Example(
        "The client went away; the gateway went on reading, and paying for, what nobody would get.", lambda: _read_on(5)
    ),
}
"""Kind → its example."""


def _silent() -> list[Block]:
    """The gateway went on reading, and sent nothing for half a minute."""
    at = [0.5 * n for n in range(1, len(ANSWER) + 1)]
    read, gone = Timed(ANSWER, at, 6.0), Timed(ANSWER[:4], at[:4], 32.1, "disconnected")
    return stream(read, gone, Timed(ANSWER[:4], at[:4], 32.0, "timeout"))


def _cancelled() -> list[Block]:
    """A person closed the tab; the gateway heard of it, and let go of its upstream."""
    at = [0.5 * n for n in range(1, len(ANSWER) + 1)]
    read, sent = Timed(ANSWER[:7], at[:7], 3.6, "cancelled"), Timed(ANSWER[:6], at[:6], 3.2, "disconnected")
    return stream(read, sent, Timed(ANSWER[:5], at[:5], 3.0, "cancelled"))


def _let_go() -> list[Block]:
    """A limit of the gateway's own: it ended its answer while its upstream went on."""
    read, sent = ANSWER[:9], ANSWER[:6]
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    return path(read, sent, sent, handed_on(sent), used(handed_on(sent)), ingress=ingress)


def _broke_off() -> list[Block]:
    """The connection to the provider broke, and everybody behind it had what had come."""
    got = ANSWER[:6]
    ended = {
        "ingress": How("ingress", leg=0, end="reset", complete=False),
        "egress": How("egress", legs=(LEG,), end="raised", complete=False),
        "wire": How("wire", end="protocol_error", complete=False),
    }
    return path(got, got, got, **ended)


ENDINGS: Final[dict[str, Example]] = {
    "`client_cancelled`": Example(
        "A person closed the tab. Nothing is wrong; what was under way is not lost.", _cancelled
    ),
    "`upstream_truncated`": Example("The provider's connection broke. The gateway only passed that on.", _broke_off),
    "`gateway_truncated`": Example(
        "The gateway ended its answer while its upstream went on. That is proven; what it meant to send still is not.",
        _let_go,
    ),
    "`stalled`": Example(
        "The client gave up after a long silence, and it was the gateway that had gone silent.", _silent
    ),
    "`network_lost`, by nobody": Example(
        "Only the client is instrumented: the connection was reset, and who did it was not seen.",
        lambda: path(None, None, ANSWER[:6], wire=How("wire", end="reset", complete=False)),
    ),
}
"""Ending → an example of it."""


def _unseen() -> list[Block]:
    """What a parser lost, and what the client received was lost on its way to us."""
    return [block for block in _parser(_without(SDK, 5)) if block.point != "wire"]


def _contradicted() -> list[Block]:
    """The client's record lacks an event that its parser handed on."""
    return path(ANSWER, ANSWER, _without(ANSWER, 5), SDK, used(SDK))


def _not_held() -> list[Block]:
    """Nothing is known to be wrong; the end of the gateway's record is missing."""
    egress = How("egress", legs=(LEG,), size=4)
    return [b for b in path(ANSWER, ANSWER, ANSWER, egress=egress) if not (b.point == "egress" and b.final)]


SURE: Final[dict[str, Example]] = {
    "narrowed": Example(
        "An event was lost behind the gateway, and the record of what the client received is missing: the transport or"
        " the parser, and nobody else.",
        _unseen,
    ),
    "contradictory": Example(
        "What the client received lacks an event that its parser handed on. No fault can do that; a record is wrong.",
        _contradicted,
    ),
    "unproven": Example(
        "The end of the gateway's record was lost. Nothing is claimed, not even that all is well.", _not_held
    ),
}
"""How sure a verdict is → an example of it."""


def verdict(kind: str) -> dict[str, Any]:
    """The document of an example."""
    return judge(EXAMPLES[kind].blocks(), settled=True)


def examples() -> str:
    """Every finding's example as Markdown."""
    return "\n".join(_example(f"`{kind}`", example) for kind, example in EXAMPLES.items())


def endings() -> str:
    """Some endings, the same way."""
    return "\n".join(_example(name, example) for name, example in ENDINGS.items())


def sure() -> str:
    """Verdicts that are not proven, the same way."""
    return "\n".join(_example(name, example) for name, example in SURE.items())


def _example(name: str, example: Example) -> str:
    document = judge(example.blocks(), settled=True) | {"stream": _SHOWN}
    report = render(document, Style(colour=False, width=_WIDTH, ascii=False))
    return f"**{name}** {example.story}\n\n```text\n{report}\n```\n"
