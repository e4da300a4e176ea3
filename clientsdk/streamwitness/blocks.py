"""A block and its OpenTelemetry attributes: the contract between what records and what judges.

`Block.attributes()` is what a recorder sends, `Block.parse()` what collector and analyzer make of it again; a span
that contradicts itself is refused with a BlockError that says why. Pure data: no clock, no I/O, no OpenTelemetry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from . import rows as _rows
from . import semconv as sc

Value = Any
"""An OTLP attribute value: str, bool, int, float, bytes, or a sequence of str or int."""

_ID32: Final = re.compile(r"[0-9a-f]{32}\Z")
_ID16: Final = re.compile(r"[0-9a-f]{16}\Z")
_HEX: Final = re.compile(r"[0-9a-f]{1,64}\Z")
_INT64: Final = 1 << 63
_NO_TOTALS: Final = dict.fromkeys(sc.TOTALS, 0)

_DIGESTS: Final = {
    "payload_s": sc.DIGEST_PAYLOAD_S,
    "payload_o": sc.DIGEST_PAYLOAD_O,
    "semantic_s": sc.DIGEST_SEMANTIC_S,
    "semantic_o": sc.DIGEST_SEMANTIC_O,
}
_OWN_KEYS: Final = frozenset(
    (
        sc.ID, sc.EXCHANGE, sc.WITNESS, sc.RECORDER, sc.POINT, sc.ATTEMPT, sc.HOP, sc.LEG, sc.LEGS, sc.OF, sc.DELIVERS,
        sc.EXPECTED, sc.BLOCK_INDEX, sc.BLOCK_ROWS, sc.BLOCK_POSITION, sc.BLOCK_FINAL, sc.BLOCK_SUMMARY,
        sc.BLOCK_MAX_BEFORE, sc.BLOCK_MAX_AFTER, sc.BLOCK_REGRESSIONS, sc.BLOCK_HAS, sc.ROWS, sc.TOTAL_PARTS,
        sc.CONTENT_MARKS, sc.SLOT_DIGESTS, sc.COMPLETE, sc.END, sc.END_DETAIL,
        *_DIGESTS.values(), *(sc.TOTAL_PREFIX + name for name in sc.TOTALS),
    )
)  # fmt: skip

_BITS: Final = {key: 1 << place for place, key in enumerate(sc.MARKED)}
_EVERY_BIT: Final = (1 << len(sc.MARKED)) - 1


class BlockError(ValueError):
    """A span is no valid block; the message names the attribute and what is wrong with it."""


@dataclass(slots=True)
class Block:
    """A run of consecutive rows of one recorder, with everything needed to judge it without its neighbours.

    `totals`, `total_parts` and the four sums are cumulative through the block's end. `rows` is the encoded
    `stream.rows` (None where there are none: a block without rows, a summary, level `counters`). `extra` holds all
    attributes that have no field here (`gen_ai.*`, `error.type`, waits, …). Times are Unix nanoseconds.
    """

    stream: str
    exchange: str
    witness: str
    recorder: str
    point: sc.Point
    index: int
    position: int
    row_count: int
    rows: bytes | None = None
    final: bool = False
    summary: bool = False
    attempt: int = 0
    hop: int = 0
    leg: int | None = None
    legs: tuple[str, ...] = ()
    of: str | None = None
    delivers: int = sc.ALL_PARTS
    expected: int = 0
    max_before: int = -1
    max_after: int = -1
    regressions: int = 0
    totals: dict[str, int] = field(default_factory=_NO_TOTALS.copy)
    total_parts: tuple[int, ...] = (0,) * len(sc.PARTS)
    payload_s: int | None = None
    payload_o: int | None = None
    semantic_s: int | None = None
    semantic_o: int | None = None
    content_marks: bytes = b""
    slot_digests: tuple[str, ...] = ()
    complete: bool | None = None
    end: str | None = None
    end_detail: str = ""
    extra: dict[str, Value] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0
    resource: dict[str, Value] = field(default_factory=dict)
    context: tuple[int, int] | None = None
    """Trace id and span id that were active where the exchange began; sent as the span's parent, not an attribute."""
    role: str | None = None
    """What the ingest key may testify for (`gateway`, `client`, `any`); set by the collector, None: not known."""

    @property
    def rows_held(self) -> bool:
        """Whether a row is here for each event from the block's first to its end (for none, where there are none)."""
        return self.rows is not None and self.position + self.row_count == self.totals["events"]

    def columns(self, *only: str) -> _rows.Rows:
        """The rows as columns, all or `only` these; empty where the block has none."""
        return _rows.decode(self.rows, self.row_count, only or _rows.COLUMNS) if self.rows is not None else {}

    def attributes(self) -> dict[str, Value]:
        """The block as span attributes, in the names and types of docs/wire.md.

        What they are stands first, and then what no block can be without: a limit that keeps the first ones only, or
        the last ones only, leaves a block that is refused.
        """
        out: dict[str, Value] = {
            sc.BLOCK_HAS: "",
            sc.ID: self.stream,
            sc.EXCHANGE: self.exchange,
            sc.WITNESS: self.witness,
            sc.RECORDER: self.recorder,
            sc.POINT: self.point,
            sc.ATTEMPT: self.attempt,
            sc.HOP: self.hop,
            sc.DELIVERS: self.delivers,
            sc.EXPECTED: self.expected,
            sc.BLOCK_INDEX: self.index,
            sc.BLOCK_ROWS: self.row_count,
            sc.BLOCK_POSITION: self.position,
            sc.BLOCK_FINAL: self.final,
            sc.BLOCK_MAX_BEFORE: self.max_before,
            sc.BLOCK_MAX_AFTER: self.max_after,
            sc.BLOCK_REGRESSIONS: self.regressions,
            sc.TOTAL_PARTS: self.total_parts,
        }
        for name, value in self.totals.items():
            if value:
                out[sc.TOTAL_PREFIX + name] = value
        for name, key in _DIGESTS.items():
            if (value := getattr(self, name)) is not None:
                out[key] = value
        optional: tuple[tuple[str, Value, bool], ...] = (
            (sc.BLOCK_SUMMARY, True, self.summary),
            (sc.ROWS, self.rows, self.rows is not None and not self.summary),
            (sc.LEG, self.leg, self.leg is not None),
            (sc.LEGS, self.legs, bool(self.legs)),
            (sc.OF, self.of, self.of is not None),
            (sc.CONTENT_MARKS, self.content_marks, bool(self.content_marks)),
            (sc.SLOT_DIGESTS, self.slot_digests, bool(self.slot_digests)),
            (sc.COMPLETE, self.complete, self.complete is not None),
            (sc.END, self.end, self.end is not None),
            (sc.END_DETAIL, self.end_detail, bool(self.end_detail)),
        )
        out.update((key, value) for key, value, present in optional if present)
        out.update(self.extra)
        out[sc.BLOCK_HAS] = f"{_marked(out):x}"
        return out

    @classmethod
    def parse(
        cls,
        attributes: Mapping[str, Value],
        *,
        start_ns: int = 0,
        end_ns: int = 0,
        resource: Mapping[str, Value] | None = None,
        role: str | None = None,
    ) -> Block:
        """Read a span's attributes; raises BlockError when one is missing, of the wrong type or impossible."""
        read = _Reader(attributes)
        point = read.one_of(sc.POINT, sc.POINTS)
        block = cls(
            stream=read.matching(sc.ID, _ID32),
            exchange=read.matching(sc.EXCHANGE, _ID16),
            witness=read.matching(sc.WITNESS, _ID16),
            recorder=read.matching(sc.RECORDER, _ID16),
            point=point,  # type: ignore[arg-type]
            index=read.count(sc.BLOCK_INDEX, required=True),
            position=read.count(sc.BLOCK_POSITION, required=True),
            row_count=read.count(sc.BLOCK_ROWS, required=True),
            rows=read.optional(sc.ROWS, bytes),
            final=read.flag(sc.BLOCK_FINAL),
            summary=read.flag(sc.BLOCK_SUMMARY),
            attempt=read.count(sc.ATTEMPT),
            hop=read.count(sc.HOP),
            leg=read.optional(sc.LEG, int),
            legs=read.strings(sc.LEGS),
            of=read.optional(sc.OF, str),
            delivers=read.count(sc.DELIVERS),
            expected=read.count(sc.EXPECTED),
            max_before=read.integer(sc.BLOCK_MAX_BEFORE, -1),
            max_after=read.integer(sc.BLOCK_MAX_AFTER, -1),
            regressions=read.count(sc.BLOCK_REGRESSIONS),
            totals={name: read.count(sc.TOTAL_PREFIX + name) for name in sc.TOTALS},
            total_parts=read.counts(sc.TOTAL_PARTS, len(sc.PARTS)),
            payload_s=read.optional(sc.DIGEST_PAYLOAD_S, int),
            payload_o=read.optional(sc.DIGEST_PAYLOAD_O, int),
            semantic_s=read.optional(sc.DIGEST_SEMANTIC_S, int),
            semantic_o=read.optional(sc.DIGEST_SEMANTIC_O, int),
            content_marks=read.optional(sc.CONTENT_MARKS, bytes) or b"",
            slot_digests=read.strings(sc.SLOT_DIGESTS),
            complete=read.optional(sc.COMPLETE, bool),
            end=read.optional(sc.END, str),
            end_detail=read.optional(sc.END_DETAIL, str) or "",
            extra={key: value for key, value in attributes.items() if key not in _OWN_KEYS},
            start_ns=start_ns,
            end_ns=end_ns,
            resource=dict(resource or {}),
            role=role,
        )
        block._check()
        read.nothing_cut_off()
        return block

    def _check(self) -> None:
        """Refuse what no recorder can have seen."""
        ends = sc.EGRESS_ENDS if self.point == "egress" else sc.CLIENT_ENDS
        events, judged = self.totals["events"], self.totals["judged"]
        refusals = (
            (events > sc.MAX_EVENTS, f"stream.total.events is {events}, at most {sc.MAX_EVENTS}"),
            (
                max(self.max_before, self.max_after) >= sc.MAX_EVENTS,
                f"{sc.BLOCK_MAX_BEFORE} or {sc.BLOCK_MAX_AFTER} is not below {sc.MAX_EVENTS}",
            ),
            (judged > events, f"stream.total.judged {judged} is more than stream.total.events {events}"),
            (self.row_count > sc.MAX_BLOCK_ROWS, f"{sc.BLOCK_ROWS} is {self.row_count}, at most {sc.MAX_BLOCK_ROWS}"),
            (
                self.position + self.row_count > events,
                f"{sc.BLOCK_POSITION} {self.position} and {self.row_count} rows go beyond stream.total.events {events}",
            ),
            (self.summary and not self.final, f"{sc.BLOCK_SUMMARY} on a block that is not final"),
            (self.summary and self.rows is not None, f"{sc.BLOCK_SUMMARY} with {sc.ROWS}"),
            (self.final and self.end not in ends, f"{sc.END} is {self.end!r}, known: {', '.join(ends)}"),
            (self.index == 0 and self.position != 0, f"the first block is at {sc.BLOCK_POSITION} {self.position}"),
        )
        for refused, why in refusals:
            if refused:
                raise BlockError(why)
        try:
            named = self.columns().get("of", ())
        except _rows.RowsError as error:
            raise BlockError(f"{sc.ROWS}: {error}") from error
        if self.point == "applied" and any(self.max_after < at != sc.MISSING for at in named):
            raise BlockError(f"{sc.ROWS} name events beyond {sc.BLOCK_MAX_AFTER} {self.max_after}")


def _marked(attributes: Mapping[str, Value]) -> int:
    """Which of `MARKED` are here, by their bits."""
    return sum(_BITS[key] for key in _BITS.keys() & attributes.keys() if attributes[key] is not None)


class _Reader:
    """Typed access to attributes; each failure names the attribute."""

    def __init__(self, attributes: Mapping[str, Value]) -> None:
        self._attributes = attributes

    def nothing_cut_off(self) -> None:
        """Refuse a block that was sent with more than came: what it does not say any more it does not deny."""
        told = self.optional(sc.BLOCK_HAS, str)
        if told is None:  # of an older recorder
            return
        sent = int(told, 16) if _HEX.match(told) else -1
        if sent < 0:
            raise BlockError(f"{sc.BLOCK_HAS} is no bit mask in hex digits")
        if missing := sent & ~_marked(self._attributes) & _EVERY_BIT:
            names = ", ".join(key for key, bit in _BITS.items() if bit & missing)
            raise BlockError(f"{names}: cut off on the way")

    def optional(self, key: str, kind: type) -> Any:
        value = self._attributes.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BlockError(f"{key} is {type(value).__name__}, not {kind.__name__}")
        if isinstance(value, int) and not -_INT64 <= value < _INT64:
            raise BlockError(f"{key} does not fit 64 bits")
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.optional(key, str)
        if value is None:
            raise BlockError(f"{key} is missing")
        if not pattern.match(value):
            raise BlockError(f"{key} is not of the form {pattern.pattern[:-2]}")
        return str(value)

    def one_of(self, key: str, known: tuple[str, ...]) -> str:
        value = self.optional(key, str)
        if value not in known:
            raise BlockError(f"{key} is {value!r}, known: {', '.join(known)}")
        return str(value)

    def integer(self, key: str, default: int) -> int:
        value = self.optional(key, int)
        return default if value is None else int(value)

    def count(self, key: str, default: int = 0, required: bool = False) -> int:
        if required and key not in self._attributes:
            raise BlockError(f"{key} is missing")
        value = self.integer(key, default)
        if value < 0:
            raise BlockError(f"{key} is negative")
        return value

    def flag(self, key: str) -> bool:
        return bool(self.optional(key, bool))

    def strings(self, key: str) -> tuple[str, ...]:
        value = self._attributes.get(key, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise BlockError(f"{key} is not a list of strings")
        return tuple(value)

    def counts(self, key: str, length: int) -> tuple[int, ...]:
        value = self._attributes.get(key)
        if value is None:  # cut off on the way: not known is not none
            raise BlockError(f"{key} is missing")
        if not isinstance(value, (list, tuple)) or not all(type(item) is int and item >= 0 for item in value):
            raise BlockError(f"{key} is not a list of counts")
        return (*value, *(0,) * length)[:length]
