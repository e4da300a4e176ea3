"""What the three ends of a path say of themselves, in the words of the endings table; why and where it ended."""

from __future__ import annotations

from typing import Final

from streamwitness.semconv import (
    CLIENT_POINTS,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    PART,
    TERMINAL,
)
from streamwitness_analyzer.judge.compare.change import LOSSES, OWN_ENDS, Hop, Reason
from streamwitness_analyzer.judge.gateway.legs import FEW
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.parts import misframed, positions_with, unclosed
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .endings import Row
from .errors import client_error, error_given, stopped_at_an_error, told_an_error
from .moment import ended_at
from .stalls import silence

_BROKEN: Final = frozenset(("reset", "protocol_error"))
_ITS_OWN_FAILURES: Final = frozenset(("raised", "shutdown"))
"""Ends of gateway out that say what they are, whatever was sent before."""
_FAILED: Final = frozenset(("error", "eof", "unfinished", "misframed", "raised"))
"""Ends of a gateway's answer for which what it read may be the reason."""
_OF_THE_BODY: Final = (*_BROKEN, "eof", "timeout", "unknown")
"""Ends of a body, which a parser that reads it passes on by raising; `unknown`: so did the library, by some error."""
_PASSED_ON: Final = (*_BROKEN, "timeout")
"""Ends that a parser tells in the body's stead, and an application as an exception."""
_OWN_STOPS: Final = ("cancelled", "timeout", "reset", "protocol_error", "abandoned", "unknown", "raised")
"""Ends of a client's point that come before what its peer did to it, the first that any of them tells."""
_TO_THE_END: Final = ("eof", "stopped_at_terminal")
"""Ends of a reader that read all that there was for it."""
_INGRESS: Final = {
    "eof": "cut",
    "stopped_at_terminal": "cut",
    "reset": "broken",
    "protocol_error": "broken",
    "timeout": "timeout",
}
_AT_AN_ERROR: Final = ("upstream_error", "gateway_error")
_OF_A_GATEWAY: Final = frozenset(("ingress", "egress"))
"""Points of which one at least is to testify where a gateway does."""
_UNSEEN: Final = {
    ("parser", True): "parser_unseen",
    ("parser", False): "parser_unseen",
    ("reducer", False): "reducer_unseen",
    ("abandoned", False): "error_unseen",
}
"""How a client stopped that may have been given an error, and whether its parser told an end → what is known of it."""
_CLIENT_STATE: Final = {
    "eof": "eof",
    "stopped_at_terminal": "eof",
    "reset": "reset",
    "protocol_error": "protocol_error",
    "cancelled": "cancelled",
    "timeout": "timeout",
    "abandoned": "abandoned",
    "raised": "abandoned",
    "unknown": "failed",
}


def ingress_state(path: Path) -> str:
    """The upstream's end, of the leg that feeds the answer; one that may not feed it says nothing."""
    return path.once("state of ingress", lambda: _ingress_state(path))


def _ingress_state(path: Path) -> str:
    leg, hop = path.upstream.leg, path.upstream.hop
    nobody = "unfed" if path.exchange.expected & _OF_A_GATEWAY else "none"
    if leg is None or leg.closing is None:
        return nobody
    egress = egress_state(path)
    own = _upstream(leg)
    state = "error" if own != "rejected" and stopped_at_an_error(path, leg, egress) else own
    state = "broken" if state == "complete" and _raised_its_break(path, leg) else state
    if leg.refused:
        return state if _came_to_nothing(path, egress) else nobody
    complete, fed = state == "complete", _is_fed_by(hop, egress)
    made_up, let_go = hop is not None and hop.status == "faulty", state == "stopped" and fed  # which it may finish
    lines: tuple[tuple[bool, str], ...] = (
        (not complete and _another_answered(path), nobody),
        (complete and _another_may_have_failed(path, leg, egress), nobody),
        (complete and egress == "raised" and leg.end in _BROKEN and "" in _breaks(path, leg), nobody),
        (not complete and not leg.total("judged") and _said_something(path), nobody),  # which is not of this one
        (egress == "misframed" and _every_upstream_seen(path), state),  # none of what it is made of came in so
        # it may be a side call's, and clears nobody
        (complete and egress not in ("complete", "none") and not (fed or _begins_as(path, leg)), nobody),
        (not complete and egress == "complete" and not (made_up or let_go), nobody),
        (complete and egress == "unfinished" and _finishes_behind_its_end(leg) is True, "unfinished"),
        (complete and egress == "unfinished" and _finishes_behind_its_end(leg) is None, nobody),
    )
    return next((word for fits, word in (*lines, (state == "none", nobody)) if fits), state)


def _came_to_nothing(path: Path, egress: str) -> bool:
    """Whether every upstream is known to have refused, and nothing of an answer was sent, whoever's it would be.

    One that never answered may not even have been there to be asked.
    """
    sent = path.record("egress")
    if sent is None or not sent.closed or path.exchange.unanswered or not _every_upstream_seen(path):
        return False
    return not path.exchange.legs and egress != "complete" and not sent.total("content")


def _said_something(path: Path) -> bool:
    """Whether output left the gateway; what is known of it by less than its whole record says nothing here."""
    sent = path.record("egress")
    return sent is not None and sent.closed and bool(sent.total("content"))


def _finishes_behind_its_end(leg: Record) -> bool | None:
    """Whether its finish came behind its terminator, where nothing more is due; None where lost rows hide it."""
    ends, finishes = positions_with(leg, TERMINAL), positions_with(leg, FINISH)
    if len(ends) < leg.part("terminal") or len(finishes) < leg.part("finish"):
        return None
    return bool(ends and finishes) and ends[0] < finishes[0]


def _is_fed_by(hop: Hop | None, egress: str) -> bool:
    """Whether the answer is made of the leg, as far as the hop between them says, however much of it was sent."""
    if hop is None:
        return False
    known = hop.status != "unproven" or hop.reason in OWN_ENDS
    return known or (hop.reason == Reason.IN_PASSING and egress in _ITS_OWN_FAILURES)


def _begins_as(path: Path, leg: Record) -> bool:
    """Whether all that the gateway sent is what the leg began with, by its digests: then it is made of that leg."""
    egress = path.record("egress")
    if egress is None or not (leg.closed and egress.closed):
        return False
    read, sent = View(leg, "semantic"), View(egress, "semantic")
    return sent.digests and FEW < sent.n <= read.n and read.prefix[sent.n] == sent.o


def _every_upstream_seen(path: Path) -> bool:
    """Whether the records of all that the gateway read for this answer are held."""
    return bool(_listed(path)) and not _another_answered(path)


def _another_answered(path: Path) -> bool:
    """Whether there may be an upstream response of which no end is held: it may be the one that ended the answer."""
    egress = path.record("egress")
    if egress is None or egress.closing is None:
        return "egress" in path.exchange.expected
    return not {leg.recorder for leg in path.exchange.at("ingress") if leg.closing} >= _listed(path)


def _another_may_have_failed(path: Path, leg: Record, egress: str) -> bool:
    """Whether an answer that failed may be made of another attempt than this one, which is whole."""
    others = [other for other in path.exchange.at("ingress") if other is not leg]
    if egress == "none":
        return bool(others) and not _whole(path, path.record("wire"), path.record("parsed"))
    if egress not in _FAILED:
        return False
    unknown = any(not (other.complete or other.refused or View(other, "semantic").digests) for other in others)
    return unknown or _another_answered(path)


def _raised_its_break(path: Path, leg: Record) -> bool:
    """Whether a gateway that raised let pass what broke its upstream behind the finish: an error of the same class."""
    broke, raised = _breaks(path, leg)
    return broke == raised != "" and _every_upstream_seen(path)


def _breaks(path: Path, leg: Record) -> tuple[str, str]:
    """The classes of the errors that broke this upstream, and that its gateway raised; "": none, or not known."""
    sent = path.record("egress")
    raised = sent.closing if sent is not None and sent.end == "raised" else None
    broke = leg.closing if leg.end in _BROKEN else None
    return broke.end_detail if broke is not None else "", raised.end_detail if raised is not None else ""


def _listed(path: Path) -> frozenset[str]:
    egress = path.record("egress")
    return frozenset(egress.closing.legs if egress is not None and egress.closing is not None else ())


def _upstream(leg: Record) -> str:
    if leg.error_status:
        return "rejected"
    if told_an_error(leg):
        return "error"
    if leg.complete:
        return "complete"
    if _unsure(leg):
        return "none"
    if _against_the_format(leg):
        return "misframed"
    if _INGRESS.get(leg.end or "") == "cut" and _unfinished(leg):
        return "unfinished"
    return _INGRESS.get(leg.end or "", "stopped")


def _against_the_format(record: Record) -> bool:
    """Whether a body that ended cleanly was not as its format has it, as a whole or at its very end."""
    return record.end == "eof" and (misframed(record) or unclosed(record))


def _unfinished(record: Record) -> bool:
    """Whether its terminator came, and a known completion rule was not satisfied all the same."""
    return bool(record.part("terminal")) and record.closing is not None and record.closing.complete is False


def egress_state(path: Path) -> str:
    """The gateway's end."""
    egress = path.record("egress")
    if egress is None or egress.closing is None or egress.end is None:
        return "none"
    if told_an_error(egress) or (egress.part("error") and client_error(path) == "error"):
        return "error"
    if _complete(path, egress):
        return "complete"
    if _unsure(egress) and egress.end not in _ITS_OWN_FAILURES:
        return "none"
    if _against_the_format(egress):
        return "misframed"
    return "unfinished" if egress.end == "eof" and _unfinished(egress) else egress.end


def _unsure(record: Record) -> bool:
    """Whether it stopped observing before it had seen a whole answer: what its end cut off, if anything, is unknown."""
    return record.faulted and not record.complete


def client_state(path: Path, *, settled: bool) -> str:
    """The client's end: of its points the one that stopped first of its own, else what its peer did to it."""
    wire, parsed, applied = (path.record(point) for point in CLIENT_POINTS)
    held = [record for record in (wire, parsed, applied) if record is not None and record.closing is not None]
    if not held:
        announced = path.exchange.expected & set(CLIENT_POINTS)
        return "none" if not announced else "missing" if settled else "waiting"
    if all(_unsure(record) and record.end != "raised" and not told_an_error(record) for record in held):
        return "none"
    if (error := client_error(path)) is not None:
        return error
    word = "complete" if _whole(path, wire, parsed) else _early(path, wire, parsed, applied, settled=settled)
    lost = word == "complete" and not any(map(_told_its_end, held)) and _may_have_lost_its_end(path)
    return _unheard(path, settled=settled) if lost else word


def _early(path: Path, wire: Record | None, parsed: Record | None, applied: Record | None, *, settled: bool) -> str:
    """How an answer ended at the client that was not complete there."""
    arrived = wire is not None and _complete(path, wire)  # then what stopped further down is not the connection's doing
    stop = _stop(wire, parsed, applied, arrived)
    if stop == "none" or (stop in _OWN_STOPS and _only_the_application_tells(wire, parsed, applied)):
        return _unheard(path, settled=settled)
    if stop == "timeout":
        return _stalled(path)
    if error_given(path) is not None:
        stop = _UNSEEN.get((stop, parsed is not None and parsed.closing is not None), stop)
    if stop != "eof":
        return stop
    if wire is None or wire.closing is None:
        return _early_behind(path, settled=settled)
    if misframed(wire) or unclosed(wire):
        return "misframed"
    return "unfinished" if _unfinished(wire) and not _unsure(wire) else stop


def _only_the_application_tells(wire: Record | None, parsed: Record | None, applied: Record | None) -> bool:
    """Whether nobody tells that the answer was not complete, and the application has used its finish."""
    readers = [record for record in (wire, parsed) if record is not None and record.closing is not None]
    return not readers and applied is not None and bool(applied.part("finish"))


def _unheard(path: Path, *, settled: bool) -> str:
    """A client of which those who read do not tell their end, where a whole answer had left for it."""
    if egress_state(path) != "complete" or not path.exchange.expected & {"wire", "parsed"}:
        return "none"
    return "missing" if settled else "waiting"


def _early_behind(path: Path, *, settled: bool) -> str:
    """An early end that only the parser tells: its own doing or the connection's, if the gateway had more to tell."""
    unheard = {"complete": "missing" if settled else "waiting", "disconnected": "none"}
    return unheard.get(egress_state(path), "eof")


def _stalled(path: Path) -> str:
    """A client that waited no longer: where progress had stopped, if it waited long and that can be told."""
    quiet = silence(path)
    if quiet is None or quiet.where is None:
        return "timeout"
    return f"{'stalled' if quiet.events else 'no_first'}_{quiet.where}"


def _whole(path: Path, wire: Record | None, parsed: Record | None) -> bool:
    """Whether the client had the complete answer, as far down as it tells; a known completion rule tells best."""
    held = [(r, r.closing) for r in (parsed, wire) if r is not None and r.closing is not None and not _unsure(r)]
    ruled = [record for record, closing in held if closing.complete is not None] or [record for record, _ in held]
    if not ruled or _complete(path, ruled[0]):
        return bool(ruled)
    to_the_end = ruled[0].end in _TO_THE_END  # then a terminator that a parser keeps is asked for before it
    return to_the_end and any(_had_the_end(path, record) for record in ruled)


def _complete(path: Path, record: Record) -> bool:
    """Whether a point had a complete answer; where only a clean end tells, not if what came before it was lost."""
    by_rule = record.closing is not None and record.closing.complete is not None
    return record.complete and (by_rule or not (path.cut_upstream or _lost_its_end(path, record)))


def _lost_its_end(path: Path, record: Record) -> bool:
    """Whether the end of the answer is known to have been lost on the way to this point."""
    for step in path.steps:
        if any(change.kind == "tail" for change in step.hop.changes):
            return True
        if step.after is record:
            break
    return False


def _told_its_end(record: Record) -> bool:
    """Whether a finish or a terminator came, or the answer is complete by a rule."""
    ruled = record.closing is not None and bool(record.closing.complete)
    return ruled or bool(record.part("finish") or record.part("terminal"))


def _may_have_lost_its_end(path: Path) -> bool:
    """Whether something was lost on the way to the client of which lost rows hide whether it was the end."""
    ways = [step for step in path.steps if step.after.point in CLIENT_POINTS]
    hidden = ((c, step.before.events) for step in ways for c in step.hop.changes if c.kind in LOSSES and not c.placed)
    return any(change.span[1] >= events - 1 for change, events in hidden)


def _had_the_end(path: Path, record: Record) -> bool:
    """A terminator, of an answer that was complete before it, was reached: it ended, whatever is missing of it."""
    egress = path.record("egress")
    return (
        egress is not None
        and egress.complete
        and record.end in _TO_THE_END
        and (bool(record.part("terminal")) or bool(record.part("finish")) or record.end == "stopped_at_terminal")
    )


def _stop(wire: Record | None, parsed: Record | None, applied: Record | None, arrived: bool) -> str:
    """Who stopped first, in the client's words: the first line that fits. `arrived`: all of the answer came."""
    told = (("wire", wire), ("parsed", parsed), ("applied", applied))
    ends = {name: r.end for name, r in told if r is not None and r.end and (r.end == "raised" or not _unsure(r))}
    readers = [ends[name] for name in ("wire", "parsed") if name in ends]
    own = next((end for end in _OWN_STOPS if end in ends.values()), None)
    lines: tuple[tuple[bool, str | None], ...] = (
        (not arrived and ends.get("wire") in _OF_THE_BODY, ends.get("wire")),
        (not arrived and "wire" not in ends and ends.get("parsed") in _PASSED_ON, ends.get("parsed")),
        # first: `applied` ends as the stream that it reads; an error or a broken body makes a parser raise, too
        (ends.get("parsed") == "raised", "parser" if "wire" in ends else "parser_unseen"),
        (ends.get("applied") == "raised", "reducer" if _given_by(applied) in ends else "reducer_unseen"),
        (own is not None, own),
        (arrived, "complete"),
        (bool(readers), readers[0] if readers else None),  # `applied` knows no early end
    )
    word = next((word for fits, word in lines if fits), None) or "none"
    return _CLIENT_STATE.get(word, word)


def _given_by(applied: Record | None) -> str | None:
    """The point whose events an application reports of: if that raised, so did what the application reads by."""
    return next((block.of for block in applied.blocks if block.of), None) if applied is not None else None


def finish(main: Path | None) -> str | None:
    """Why the answer ended, in the provider's canonical word, as told furthest down."""
    return main.once("finish", lambda: _finish(main)) if main else None


def _finish(path: Path) -> str | None:
    for record in reversed(path.records):
        reasons = record.told(FINISH_REASONS_ATTRIBUTE)
        if isinstance(reasons, (list, tuple)) and reasons:
            return str(reasons[0])
    return None


def after(row: Row, main: Path | None) -> int | None:
    """The last event before the end, where the stream ended: at the point next to who ended it."""
    at = ended_at(row, main)
    if main is None or at is None:
        return None
    first = main.first if at.point != "ingress" else 0
    if row.ending in _AT_AN_ERROR and at.part("error") and at.complete:  # it went on behind the error
        places = positions_with(at, PART["error"])
        return first + places[0] if len(places) == at.part("error") else None
    return first + at.events - 1
