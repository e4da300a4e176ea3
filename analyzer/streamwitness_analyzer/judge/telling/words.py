"""The sentences a person reads: a table each of kinds, components, endings and notes. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from streamwitness.semconv import FINISH, PING, POINT_LABELS, ROLE, TERMINAL, USAGE, Component, Point

WHO: Final[dict[Component, str]] = {
    "source": "source",
    "gateway": "gateway",
    "transport": "transport",
    "parser": "client's parser",
    "reducer": "client's reducer",
}
"""How a component is called in a sentence."""

VERBS: Final = {
    "gap": "lost {what}",
    "tail": "lost {what}",
    "reorder": "put {what} in another order",
    "gap_or_late": "lost or delayed {what}",
    "mismatch": "lost, moved or changed {what}",
    "duplicate": "doubled {what}",
    "fabricated": "invented {what}",
    "extra": "added {what}",
    "corrupt": "changed the bytes of {what}",
    "altered": "changed the content of {what}",
    "partial": "used only a part of {what}",
    "misapplied": "kept another text than it was given",
    "cross_stream": "mixed in {what} of another stream",
    "malformed": "broke {what}",
    "after_terminal": "put {what} behind the end",
    "delayed": "held back {what}",
    "upstream_kept_running": "read {what} after its client had gone",
}
"""Kind → what was done, and to what."""

SWALLOWED: Final = "swallowed"
MADE_UP: Final = "made up"
OTHER_FINISH: Final = "other finish"
BEGUN_ANEW: Final = "begun anew"
RAISED_AT: Final = "raised at"
SPECIAL: Final = {
    SWALLOWED: ("swallowed an error", "The error that {had} never {came}: nothing that came out tells of it."),
    OTHER_FINISH: ("changed why the answer ended", "The reason to finish that {came} is not the one that {had}."),
    BEGUN_ANEW: (
        "sent the beginning of the answer twice",
        "{count} {came} twice: of an upstream response that broke, and again of the next one, which begins the same.",
    ),
    RAISED_AT: ("raised at {what}", "The application's own code raised at {count}, and so {it} took no effect."),
    MADE_UP: ("made up the end of the answer", "The answer ends with {count} that {came}, and that {never_had}."),
}
"""What some findings are told as in place of their kind → what was done, and the sentence."""
_UNCOUNTED: Final = {"reorder": "events"}
"""What a headline says of kinds of which a number would say nothing: how many events moved is a matter of view."""

HAD: Final[dict[Point, tuple[str, str]]] = {
    "source": ("the provider", "sent"),
    "ingress": ("the gateway", "read"),
    "egress": ("the gateway", "sent"),
    "wire": ("the client", "received"),
    "parsed": ("the client's parser", "delivered"),
    "applied": ("the application", "used"),
}
"""What a point had, as who did what."""

CAME: Final[dict[Point, tuple[str, str, str]]] = {
    "source": ("leave", "left", "the provider"),
    "ingress": ("reach", "reached", "the gateway"),
    "egress": ("leave", "left", "the gateway"),
    "wire": ("reach", "reached", "the client"),
    "parsed": ("come", "came", "out of the client's parser"),
    "applied": ("take", "took", "effect in the application"),
}
"""How an event comes to a point: the verb, the verb for what is past, and where."""

HIDDEN: Final = ("what exactly happened cannot be told", "lost records hide what exactly happened")
"""Why a `mismatch` is told as no more: without and with records lost at its two points."""

EXPLAINED: Final = {
    "gap": "{count} that {had} never {came}.",
    "tail": "Everything from event {first} on, {count}, never {came}, though {had} it.",
    "reorder": "The same events {came} in another order than {had} them.",
    "gap_or_late": "{count} that {had} did not {come} in time; whether lost or late cannot be told.",
    "mismatch": "What {came} differs from what {had}; {hidden}.",
    "duplicate": "{count} {came} more often than {had} {it}.",
    "fabricated": "{count} {came} that {never_had}.",
    "extra": "{count} more {came} than {had}; whether copied or invented cannot be told.",
    "corrupt": "The bytes of {count} that {came} are not those that {had}.",
    "altered": "The content of {count} that {came} is not what {had}.",
    "partial": "The application took only a part of {count}.",
    "misapplied": "Every event was applied, yet the text that the application kept is not the text that it was given.",
    "cross_stream": "{count} of another stream {came}; {had} nothing of that stream.",
    "malformed": "{count} {came} that nobody can read; all that {had} could be read.",
    "after_terminal": "{count} {came} behind the end of the answer, where {had} none.",
    "delayed": "{count} that {had} {came} late, and nothing was lost by it: {note}.",
    "upstream_kept_running": "{had} {count} more after its client had gone; that client got none of {it}.",
}
"""Kind → the sentence under it; `had` is what one point testifies, `came` what the other one does (`told_between`).

`hidden` is one of `HIDDEN`.
"""

CONTENT: Final = {True: "What it says is the same.", False: "What it says is another as well."}
"""Whether an event of which the bytes changed says the same."""
CONTENTS: Final = {True: "What they say is the same.", False: "What they say is another as well."}
"""The same of several."""

REFUSED: Final = {
    "gap": "The application's reducer refused {count}, though what it was given is what the first point had.",
    "cross_stream": "The application's reducer refused {count} as another stream's, though {it} came with this one.",
    "after_terminal": "The application's reducer refused {count} as coming behind the end of the answer.",
}
"""The same where the application's own refusal is what is known."""

BY_ITSELF: Final = {
    "gap": "{count} never {came}: the provider's own numbers leave {it} out, and {note}.",
    "duplicate": "{count} {came} twice, under the same numbers of the provider's own; {note}.",
    "reorder": "{count} {came} behind later numbers of the provider's own; {note}.",
    "malformed": "{count} {came} broken: {note}.",
    "after_terminal": "{count} with output {came} behind the end of the answer, where no reader looks.",
}
"""The same for a fault that one point's record proves by itself."""

ENDED: Final = {
    "completed": "completed",
    "client_cancelled": "cancelled by the client",
    "client_timeout": "the client gave up waiting",
    "client_abandoned": "abandoned by the client",
    "client_gone": "the CONNECTION to the client ended",
    "client_vanished": "the CONNECTION to the client ended, its record never came",
    "client_parser_abort": "the client's PARSER raised",
    "client_reducer_abort": "the client's REDUCER raised",
    "network_lost": "TRANSPORT broke off",
    "upstream_error": "SOURCE sent an error",
    "upstream_truncated": "SOURCE cut",
    "upstream_timeout": "the GATEWAY gave up waiting for the SOURCE",
    "upstream_rejected": "SOURCE refused",
    "gateway_error": "GATEWAY failed",
    "gateway_truncated": "GATEWAY cut",
    "gateway_shutdown": "GATEWAY was stopped",
    "protocol_violation": "broke the PROTOCOL",
    "stalled_before_first": "stalled before the first event",
    "stalled": "stalled",
    "unwitnessed": "nobody saw the end",
}
"""Ending class → a few words for a list."""

NOT_SEEN: Final = {
    "upstream_truncated": "cut at the gateway or upstream of it",
    "upstream_error": "an error came in the answer",
    "network_lost": "the connection broke",
    "protocol_violation": "the PROTOCOL was broken",
}
"""The same, where who ended it was not seen."""

BROKE_OFF: Final = "the connection ended early"
"""How it ended where the body broke off against HTTP, and by whom was not seen."""

NO_FINISH: Final = "GATEWAY ended without a finish"
"""How a gateway ended an answer of which it sent the terminator."""

_WHO_FIRST: Final = frozenset(("protocol_violation", "stalled", "stalled_before_first"))
"""Endings of which the words do not tell yet who it was."""


OWN_END: Final = "the GATEWAY stopped reading{after} and finished the answer itself"
"""How an answer ended that its gateway completed."""


def ended(ending: str | None, by: str | None) -> str:
    """How it ended, in a few words: `GATEWAY cut`; where it was not seen who ended it, nobody is named."""
    if ending is None:
        return "not ended yet"
    if by is None:
        return NOT_SEEN.get(ending, ENDED[ending])
    if ending == "completed" and by == "gateway":
        return OWN_END.format(after="")
    return f"{by.upper()} {ENDED[ending]}" if ending in _WHO_FIRST else ENDED[ending]


UPSTREAM_ENDS: Final = {
    "eof": "the end of the body",
    "reset": "a connection reset",
    "protocol_error": "a body that broke off",
    "stopped_at_terminal": "the terminator",
    "cancelled": "let go of the upstream",
    "abandoned": "let go of the upstream",
    "raised": "raised",
}
"""What gateway in read last, by its end: the evidence of an ending that is the provider's."""

CLIENT_SAW: Final = {
    "eof": "the end of the body",
    "reset": "a connection reset",
    "protocol_error": "a body that broke off",
    "timeout": "nothing more in time",
}
"""What the client received last, by its end: the evidence of an ending that is the network's."""

GATEWAY_ENDS: Final = {
    "raised": "then its code raised",
    "shutdown": "then it was stopped",
    "disconnected": "then nothing more until its client was gone",
}
"""What gateway out did last, by its end, where the parts of what it sent do not tell it."""

NOTES: Final = {
    "undelivered": "{count} in flight when the client stopped; nobody lost {it}.",
    "superseded": "{count} broke or was given up, and another answered in its place; that accuses nobody.",
    "went_on": "{count} broke or was given up, and the answer went on with another one; that accuses nobody.",
    "refused": "{count} came to nothing: the upstream refused, by status {detail}.",
    "refusal_untold": "The gateway answered with a stream all the same, and told its client nothing of the refusal.",
    "unanswered": "{count} that the gateway made upstream got no response: unreachable, too slow, or still under way.",
    "ignored": "{count} left out on purpose by the application.",
    "rejected": "{count} refused by the application's reducer; that answers to what came before it.",
    "short_by_design": "The answer is short by design: it finished with {detail}.",
    "no_terminator": "The answer finished, but no terminator followed.",
    "usage_kept": "The gateway read what the answer used (tokens), and sent nothing of it.",
    "recovered": "{count} lost on the way came by a later exchange; nobody lacks {it}.",
    "silent": "Before the client left, nothing came for {detail}.",
    "linked": "It was to go on with stream {detail}, which was not there any more: this is another answer.",
    "holes": "{count} missing in the provider's own numbering; hops that edit leave such holes, too.",
    "odd_text": "{count} with the provider's own whole text, which is not what the pieces before add up to; filters"
    " and many imitations do that, too.",
    "odd_order": "{count} stood where the provider's own format does not have {it}; by itself that costs no output.",
    "noise": "{count} held something else than the provider's format, and nothing that began as an event of it.",
    "recut": "The gateway cut the same content into other events.",
    "other_finish": "The gateway told another reason to finish than it had read: {detail}.",
    "edited": "The gateway says that it {detail} on purpose.",
}
"""Note → sentence; notes are no faults."""

WITHOUT_OUTPUT: Final = {
    FINISH: "the finish",
    TERMINAL: "the terminator",
    USAGE: "the usage",
    ROLE: "the role",
    PING: "a ping",
}
"""Part → what people call an event that has it, and no output."""

REPORTED: Final = {
    "raised": "its code raised at",
    "overflow_dropped": "it had no room for",
    "partial": "it used only a part of",
}
"""What an application reports of an event that it lost (a part of) → how it is told, before the event."""
REFUSED_FOR: Final = {
    "duplicate": "a duplicate",
    "gap": "one that comes behind a gap",
    "reordered": "one out of order",
    "buffered": "one to wait for others, which never came",
    "stall_flushed": "one that waited too long for others",
    "wrong_stream": "another stream's",
    "after_terminal": "one behind the end",
    "malformed": "one that it cannot read",
}
"""Why an application's reducer refuses an event, as what."""

RAISED: Final = {"parser": "the client's parser", "reducer": "the application's own code"}
"""Components of the client that can raise → what they are called."""
IN_HAND: Final = "{count} had come when {who} raised, and went no further."
"""The note `undelivered` where the client did not stop: whoever raised may have had them in hand."""

EDITS: Final = {"filter": "left out", "merge": "joined", "rewrite": "changed"}
"""What a gateway says that it does → what it did, as the note `edited` tells it."""


def events(count: int) -> str:
    """`1 event`, `3 events`."""
    return counted(count, "event")


def edited(kind: str, count: int, exact: bool) -> str:
    """`left out 3 events`, `changed at least 1 event`."""
    return f"{EDITS[kind]} {'' if exact else 'at least '}{events(count)}"


def counted(count: int, thing: str) -> str:
    """`1 thing`, `3 things`."""
    return f"{count} {thing}" + ("" if count == 1 else "s")


def where(span: Sequence[int] | None, about: bool) -> str:
    """`event 12`, `events 3–5`, `about event 7`."""
    if span is None:
        return "an unknown event"
    first, last = span
    text = f"event {first}" if first == last else f"events {first}–{last}"
    return f"about {text}" if about and first == last else text


def near(span: Sequence[int]) -> str:
    """The same for a place that is not certain: `near event 7`, `among events 3–5`."""
    first, last = span
    return f"near event {first}" if first == last else f"among events {first}–{last}"


def suspects_called(suspects: Sequence[Component]) -> str:
    """`PARSER`, or `TRANSPORT or PARSER`; nobody when testimonies contradict each other."""
    return either([name.upper() for name in suspects]) or "NOBODY"


def did(manner: str, what: str) -> str:
    """What was done, by a finding's kind or what it is told as: `lost event 12`."""
    special, _ = SPECIAL.get(manner, ("", ""))
    return (special or VERBS[manner]).format(what=what)


def short_finding(manner: str, suspects: Sequence[Component], place: str) -> str:
    """A finding in a list: `PARSER lost event 12`."""
    return f"{suspects_called(suspects)} {did(manner, place)}" if suspects else "contradicting records"


def place_in_short(kind: str, span: Sequence[int], about: bool, count: int) -> str:
    """Where it is, for a list: `event 12`, `2 of events 3–7`, `the end from event 5`."""
    if kind == "tail":
        return f"the end from event {span[0]}"
    width = span[1] - span[0] + 1
    if kind == "cross_stream" and width > count:
        return events(count)
    if kind == "reorder":
        return f"events near {span[0]}" if width == 1 else where(span, about)
    return where(span, about) if width <= max(1, count) else f"{count} of {where(span, about)}"


def hole_in_short(span: Sequence[int], count: int) -> str:
    """What never came to the first point has no place there, but one before which it is missing."""
    return f"{events(count)} before {where((span[0], span[0]), False)}"


def accused(suspects: Sequence[Component]) -> str:
    """Who is named in a headline: `the client's parser`; empty where nobody is."""
    return either([f"the {WHO[c]}" for c in suspects])


def either(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)


def at_large(manner: str, count: int, exact: bool) -> str:
    """What was done, as a headline says it: `lost 3 events`."""
    return did(manner, _UNCOUNTED.get(manner) or f"{'' if exact else 'at least '}{events(count)}")


def without_output(parts: int) -> str:
    """What an event was that held no output, behind its number: ` (the finish)`; empty where nothing need be said."""
    return next((f" ({name})" for part, name in WITHOUT_OUTPUT.items() if parts & part), "")


def told_between(had: Point, came: Point) -> dict[str, str]:
    """What stands in the sentence of a finding for the point that had something, and for the one it came to, or not."""
    (who, did), (come, past, where_) = HAD[had], CAME[came]
    return {
        "had": f"{who} {did}",
        "never_had": f"{who} never {did}",
        "come": f"{come} {where_}",
        "came": f"{past} {where_}",
    }


def explained_by_itself(kind: str, count: int, exact: bool, words: Mapping[str, str]) -> str:
    """The same for a fault that one record proves; `words` are those of `told_between`, and `note`."""
    return _counted(BY_ITSELF[kind], count, exact, words)


def explained_refusal(kind: str, count: int, exact: bool, words: Mapping[str, str]) -> str:
    """The same for what the application's reducer refused on a path that is intact."""
    return _counted(REFUSED[kind], count, exact, words)


def explained(manner: str, count: int, exact: bool, words: Mapping[str, str]) -> str:
    """The sentence of a finding; `words` are those of `told_between`, `first` and `note`."""
    _, special = SPECIAL.get(manner, ("", ""))
    return _counted(special or EXPLAINED[manner], count, exact, words)


def _counted(sentence: str, count: int, exact: bool, words: Mapping[str, str]) -> str:
    number = (events(count) if exact else f"at least {events(count)}") + words.get("which", "")
    text = sentence.format(count=number, it="it" if count == 1 else "them", **words)
    return text[0].upper() + text[1:]


def of_type(error: object) -> str:
    """The class of an exception behind what raised it, or a reason behind a finish: ` (KeyError)`; empty if none is."""
    return f" ({error})" if isinstance(error, str) and error else ""


def label(point: str) -> str:
    """What people see instead of a point's name."""
    return POINT_LABELS[point]  # type: ignore[index]
