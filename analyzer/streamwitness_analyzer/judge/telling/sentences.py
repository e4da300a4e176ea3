"""What people read of a verdict: the headline, the summary, and why it is so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from streamwitness.semconv import (
    COMPONENTS,
    ERROR_TYPE,
    FINISH_REASONS_ATTRIBUTE,
    POINTS,
    STATUS_CODE,
    Component,
    Point,
)
from streamwitness_analyzer.judge.attribute import Step, between
from streamwitness_analyzer.judge.ending.endings import Row
from streamwitness_analyzer.judge.ending.moment import ended_at, moment
from streamwitness_analyzer.judge.ending.states import after
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.source import hidden
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.waiting import seconds

from . import words
from .awaited import awaited, in_short, record_of
from .counting import counts
from .evidence import SAW
from .findings import Finding
from .headline import headline
from .numbering import number_of_last
from .summary import edits, ended_by, summary

_BY_TRANSPORT: Final = "THE TRANSPORT "
_LISTED: Final = 3
"""Findings that a list has room for."""
_LAST_TOLD: Final = frozenset(
    ("upstream_truncated", "upstream_timeout", "gateway_truncated", "network_lost", "stalled", "upstream_error",
     "client_cancelled", "client_timeout", "client_abandoned", "client_gone", "client_vanished",
     "client_parser_abort", "client_reducer_abort"),
)  # fmt: skip
"""Endings of which people read behind which event they were."""

_RAISED_IN: Final[dict[str, Point]] = {"client_parser_abort": "parsed", "client_reducer_abort": "applied"}
"""Endings by which something in the client raised → the point that it did not come to any more."""


def said(
    row: Row, integrity: str, found: Sequence[Finding], main: Path | None, *, settled: bool = True
) -> dict[str, str]:
    """Headline, summary and short form: what was found, and how it ended where that says more."""
    waits = None if settled else awaited(main)
    ending = _in_short(row, main, found)
    blamed = list(dict.fromkeys(finding.short for finding in found))
    told_already = row.ending == "completed" or _raised_there(row, found)
    short = "; ".join([*([] if told_already and blamed else [ending]), *_listed(blamed)])
    if not blamed and row.ending in ("completed", "client_cancelled", "client_timeout", "client_abandoned", None):
        so_far = f"; {in_short(waits)}" if waits is not None and row.ending is not None else ""
        short = ending + (so_far or _beside_edits(integrity, main))
    told = _headed(row, ending, main, found) if found else short.upper()
    return {"headline": told, "summary": summary(row, integrity, found, main, waits), "short": short}


def _headed(row: Row, ending: str, main: Path | None, found: Sequence[Finding]) -> str:
    """The headline; of a connection that broke first that it did, which costs more than what was on its way then."""
    broken = [f for f in found if f.fault.change.kind == "tail" and f.fault.suspects == ("transport",)]
    if (row.ending, row.by) != ("network_lost", "transport") or not broken:
        return headline(found)
    sent = main.record("egress") if main is not None else None
    whole = sent is not None and sent.complete  # then that is all that was lost
    more = headline([finding for finding in found if whole or finding not in broken])
    by_it = more.removeprefix(_BY_TRANSPORT)
    return f"the {ending}".upper() + (f"{' AND ' if by_it != more else ', '}{by_it}" if more else "")


def _beside_edits(integrity: str, main: Path | None) -> str:
    """The integrity for a list; whoever misses a word should read first that it was left out on purpose."""
    beside = f"; the GATEWAY {' and '.join(told)} on purpose" if (told := edits(main)) else ""
    return beside if beside and integrity == "intact" else f", {integrity}{beside}"


def _raised_there(row: Row, found: Sequence[Finding]) -> bool:
    """Whether a finding tells that the application's code raised where the stream ended by that."""
    return row.ending == "client_reducer_abort" and any(finding.manner == words.RAISED_AT for finding in found)


def _listed(findings: list[str]) -> list[str]:
    """As many as a list has room for; the rest by their number."""
    more = len(findings) - _LISTED
    return findings if more <= 0 else [*findings[: _LISTED - 1], f"{more + 1} more findings"]


def _in_short(row: Row, main: Path | None, found: Sequence[Finding]) -> str:
    text = words.ended(row.ending, row.by)
    if (row.ending, row.by) == ("completed", "gateway"):
        return words.OWN_END.format(after=_last_read(main, found))
    broke_off = row.by is None and row.ending == "protocol_violation" and _broke_off(row, main)
    text = words.BROKE_OFF if broke_off else text
    if row.ending == "gateway_truncated" and _sent_its_terminator(main):
        return words.NO_FINISH
    if row.ending not in _LAST_TOLD and not broke_off:
        return text
    last = _last(row, main, found)
    if row.ending == "upstream_error":
        return f"{text} as event {last}" if last is not None and row.by is not None else text
    return f"{text} after event {last}" if last is not None and last >= 0 else text


def _sent_its_terminator(main: Path | None) -> bool:
    """Whether a gateway that did not finish its answer closed it all the same: nothing was cut off."""
    sent = main.record("egress") if main is not None else None
    return sent is not None and bool(sent.part("terminal"))


def _broke_off(row: Row, main: Path | None) -> bool:
    """Whether the body ended before HTTP says that it ends: to people a connection that ended, and no format."""
    at = ended_at(row, main)
    return at is not None and at.end == "protocol_error"


def _last_read(main: Path | None, found: Sequence[Finding]) -> str:
    """Behind which event a gateway let go of its upstream, if that is known; as the gateway read them."""
    leg = main.upstream.leg if main is not None and not main.upstream.joined else None
    told = leg is not None and leg.events and all(finding.axis == "ingress" for finding in found)
    return f" after event {leg.events - 1}" if leg is not None and told else ""


def _last(row: Row, main: Path | None, found: Sequence[Finding]) -> int | None:
    """The last event before the end, by the numbers that the findings have: those of what the gateway read.

    Of a client that stopped it is the last one that its application had, not one that still lay in a buffer.
    """
    last = after(row, main)
    if main is not None and row.by == "client" and not found and (used := counts(main)[1]) is not None:
        return main.first + used - 1
    if main is not None and row.ending in _RAISED_IN:
        return _last_before_raising(row.ending, main, found)
    at = ended_at(row, main)
    if last is None or main is None or at is None or not found or last != main.first + at.events - 1:
        return last
    told = number_of_last(main, at, found)
    return last if told is None else told


def _last_before_raising(ending: str, main: Path, found: Sequence[Finding]) -> int | None:
    """The last event that came out of who raised."""
    record = main.record(_RAISED_IN[ending])
    return number_of_last(main, record, found) if record is not None and record.closed else None


def why(
    row: Row,
    every: Sequence[Path],
    main: Path | None,
    found: Sequence[Finding],
    missing: Sequence[tuple[str, str]],
    excess: int,
    doubts: Sequence[str] = (),
    *,
    settled: bool = True,
) -> dict[str, Any]:
    """What was seen and what was missing, which components are cleared, and what stays unknown."""
    blamed = {c for finding in found for c in finding.fault.suspects}
    unknown = _unseen(main, blamed, asked=not missing)
    for path in every:
        for step in path.steps:
            if step.hop.status == "unproven":
                pair = f"{words.label(step.before.point)} → {words.label(step.after.point)}"
                unknown.append(f"{pair}: {step.hop.reason}")
    unknown += [reason for path in every if (reason := hidden(path))]
    unknown += [record_of(point, settled) for _, point in missing]
    unknown += [*doubts, *_unvouched(row, found, main)]
    unknown += ["more records came than are kept of one stream"] if excess else []
    evidence = found[0].evidence if found else _of_the_ending(row, main)
    guilty = blamed | ended_by(row)
    return {
        **evidence,
        "cleared": [] if doubts else [c for c in _innocent(every) if c not in guilty],
        "unknown": list(dict.fromkeys(unknown)),
    }


def _innocent(every: Sequence[Path]) -> list[Component]:
    """The components that two neighbouring points prove innocent, on each way that leads through them.

    What a record that is missing would have told, its neighbours do not: not in which bytes, nor in which order, came
    what is no output (`bridged`). So they clear nobody in its stead.
    """
    clear, unclear = set[Component](), set[Component]()
    for path in every:
        shown = {(step.before.point, step.after.point) for step in path.steps if _shown(step)}
        for pair in pairwise(path.due):
            (clear if pair in shown else unclear).update(between(*pair))
    return [c for c in COMPONENTS if c in clear and c not in unclear]


def _shown(step: Step) -> bool:
    """Whether its own two points show that nothing became of what came there."""
    return step.hop.status == "intact" and not (step.bridged and step.after.point == "wire")


def _unseen(main: Path | None, blamed: set[Component], asked: bool) -> list[str]:
    """The components on whose two sides nobody stood: before the first point, and behind the last one.

    The provider's own beginning is seen by nobody, ever. `asked` is False where a record is awaited that never came:
    that is told by itself.
    """
    records = [record for record in main.records if not record.refused] if main else []
    if not records or not asked:
        return [] if "source" in blamed else [_inside(["source"])]
    first, last = records[0].point, records[-1].point
    before = [c for c in COMPONENTS[: max(1, POINTS.index(first))] if c not in blamed]
    behind = [c for c in COMPONENTS[POINTS.index(last) :] if c not in blamed]
    unseen = [_inside(before)] if before else []
    if len(before) > 1:
        unseen[0] += f" ({_why_unseen(main, first)})"
    if behind:
        unseen.append(f"{_inside(behind)} (nothing is recorded behind {words.label(last)})")
    return unseen


def _why_unseen(main: Path | None, first: Point) -> str:
    """Why nobody can tell what became of an answer before the first point that has any of it."""
    legs = main.exchange.at("ingress") if main is not None and first == "egress" else []
    if legs and all(leg.refused for leg in legs):
        return f"{words.label('ingress')} was refused: there is nothing to compare {words.label(first)} with"
    return f"nothing is recorded before {words.label(first)}"


def _inside(components: Sequence[Component]) -> str:
    names = ["provider" if c == "source" else c for c in components]
    return f"loss inside the {words.either(names)}"


def vouched(path: Path) -> bool:
    """Whether all that tells how the stream ended came with a key that says who sent it."""
    return all(record.vouched for record in path.records)


def _unvouched(row: Row, found: Sequence[Finding], main: Path | None) -> list[str]:
    """Why a single suspect is not proven, where the records themselves could be anybody's."""
    forged = row.by is not None and row.ending != "completed" and main is not None and not vouched(main)
    forged = forged or any(
        len(f.fault.suspects) == 1 and not (f.fault.seen.vouched and f.fault.missing.vouched) for f in found
    )
    return ["who sent these records: they came without a key that says so"] if forged else []


def _of_the_ending(row: Row, main: Path | None) -> dict[str, str]:
    """What two points next to it testify of an ending that is the provider's or the gateway's, or a parser's."""
    if row.ending == "client_parser_abort" and main is not None:
        return _of_a_parser(main)
    leg, egress = (main.record(point) for point in ("ingress", "egress")) if main else (None, None)
    if row.by == "transport" and main is not None:
        return _of_the_network(main)
    if leg is None or (row.by, row.ending) == ("source", "completed") or row.by not in ("source", "gateway"):
        return {"seen": "", "missing": ""}
    if row.ending == "upstream_error":
        place = after(row, main)
        where = f" as event {place}" if place is not None else ""
        return {"seen": f"{words.label(leg.point)} read an error{where}", "missing": ""}
    if leg.refused:
        status = leg.told(STATUS_CODE)
        return {"seen": f"{words.label(leg.point)} was given status {status}, and no stream", "missing": ""}
    seen = f"{words.label(leg.point)} read {words.events(leg.events)}{_and_then(leg, row)}"
    if row.by == "source":
        return {"seen": seen, "missing": "" if leg.complete else "no finish reason"}
    return {"seen": seen, "missing": _sent(egress, leg) if egress is not None else ""}


def _of_the_network(main: Path) -> dict[str, str]:
    """What left the gateway, and what of it came."""
    egress, wire = main.record("egress"), main.record("wire")
    if egress is None or wire is None:
        return {"seen": "", "missing": ""}
    end = ", the whole answer" if egress.complete else ""
    after = words.CLIENT_SAW.get(wire.end or "", "nothing more")
    return {
        "seen": f"{SAW['egress']} {words.events(egress.events)}{end}",
        "missing": f"{SAW['wire']} {words.events(wire.events)}, then {after}",
    }


def _of_a_parser(main: Path) -> dict[str, str]:
    wire, parsed = main.record("wire"), main.record("parsed")
    if wire is None or parsed is None:
        return {"seen": "", "missing": ""}
    error = words.of_type(parsed.told(ERROR_TYPE))
    return {
        "seen": f"{SAW['wire']} {words.events(wire.events)}",
        "missing": f"{SAW['parsed']} {words.events(parsed.events)}, then raised{error}",
    }


def _and_then(leg: Record, row: Row) -> str:
    """What gateway in read last, or did; what it did after a stall is not what the stall was about."""
    if row.ending in ("stalled", "stalled_before_first"):
        return ", then no more" if row.by == "source" else ""
    if leg.complete:
        return ", the whole answer"
    if leg.end == "timeout":
        silent = moment(leg)["silent_ms"]
        return ", then waited no longer" + (
            f" ({seconds(silent)} after its last event)" if silent and leg.events else ""
        )
    return f", then {words.UPSTREAM_ENDS.get(leg.end or '', 'no more')}"


def _sent(egress: Record, leg: Record) -> str:
    """How gateway out ended, for an ending that is the gateway's."""
    end = words.GATEWAY_ENDS.get(egress.end or "")
    if end is None and egress.part("error"):
        end = "the last of them an error of its own"
    finish = "with a finish, and no terminator" if egress.part("finish") else "then ended without a finish"
    if end is None and egress.complete and egress.part("finish") > leg.part("finish"):
        end = f"with a finish{words.of_type(_reason(egress))} that {words.label(leg.point)} never read"
    end = end or ("with a finish" if egress.complete else finish)
    return f"{words.label(egress.point)} sent {words.events(egress.events)}, {end}"


def _reason(record: Record) -> object:
    """Why the answer ended, as one point was told."""
    reasons = record.told(FINISH_REASONS_ATTRIBUTE)
    return reasons[0] if isinstance(reasons, (list, tuple)) and reasons else None
