"""source.py: what a stream says against itself accuses what lies before the first point, and else nobody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import LEG, Event, How, answer, handed_on, path, summary, used
from streamwitness import rows
from streamwitness.demo.scripts import chunk
from streamwitness.semconv import (
    EDITED,
    MALFORMED,
    MISFRAMED,
    OBSERVER_FAULT,
    OTHER,
    PROVIDER_NAME,
    ROLE,
    SNAPSHOT,
    TERMINAL,
    TEXT,
    UPSTREAM_EXCHANGE,
    UPSTREAM_FAULTS,
    UPSTREAM_HOLES,
    UPSTREAM_NOISE,
)
from streamwitness_analyzer.judge import judge
from tests.cases.parsers import proper
from tests.cases.pipeline import Play, Stream, spoken

WORDS = ["The", " harbour", " was", " quiet", " when", " the", " boat", " came"]
ANSWER = spoken(*WORDS)
GLUED = b'data: {"id":"c1","object":"chat.completion.cdata: {"id":"c1","choices":[]}\n\n'
BROKEN = [*ANSWER[:3], GLUED, *ANSWER[4:]]
AFTER = [*ANSWER[:5], ANSWER[-1], *ANSWER[5:-1]]
"""The terminator in the middle."""


def told(verdict: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, confidence, count and place of each finding."""
    return [
        (f["kind"], tuple(f["suspects"]), f["confidence"], f["count"], tuple(f["sequence"]))
        for f in verdict["findings"]
    ]


def notes(verdict: dict[str, Any]) -> dict[str, int]:
    """The notes and their counts."""
    return {note["kind"]: note["count"] for note in verdict["notes"]}


def through(body: Sequence[bytes], **changes: Any) -> dict[str, Any]:
    """The verdict on a body that went through a proper gateway and client."""
    return Stream().play(replace(Play(body, proper(), body, body), **changes)).verdict()


SSE = "data: {}\n\n"


def responses(*events: dict[str, Any], numbered: Sequence[int] | None = None) -> list[bytes]:
    """Events of the Responses API."""
    numbers = range(len(events)) if numbered is None else numbered
    return [
        SSE.format(json.dumps(event | {"sequence_number": n})).encode()
        for event, n in zip(events, numbers, strict=True)
    ]


def message(words: Sequence[str] = WORDS) -> list[bytes]:
    """One whole answer of the Responses API."""
    part = {"output_index": 0, "content_index": 0}
    return responses(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant"}},
        {"type": "response.content_part.added", **part, "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", **part, "delta": word} for word in words),
        {"type": "response.output_text.done", **part, "text": "".join(words)},
        {"type": "response.completed", "response": {"id": "r"}},
    )


RESPONSES = {"path": "/v1/responses"}


# --------------------------------------------------------------------------- what is found


def test_an_event_that_nobody_can_read() -> None:
    """Seen so at gateway in: the source's, though the client stopped at it."""
    verdict = through(BROKEN)
    assert told(verdict) == [("malformed", ("source",), "certain", 1, (3, 3))]
    assert verdict["integrity"] == "damaged"
    assert verdict["findings"][0]["between"] == ["source", "ingress"]
    assert verdict["why"]["seen"] == "gateway in read event 3; the data cannot be decoded"


def test_words_between_events_are_a_note() -> None:
    """What no reader of the format takes for one of its events is no broken event."""
    for noise in (
        b"data: ping\n\n",
        b"data:\n\n",
        b'data: "hello"\n\n',
        b"data: [1]\n\n",
        b'data: {"a":NaN\ndata: }\n\n',
    ):
        verdict = through([*ANSWER[:3], noise, *ANSWER[3:]], parser=None)
        assert told(verdict) == []
    assert notes(through([*ANSWER[:3], b"data: ping\n\n", *ANSWER[3:]], parser=None)) == {"noise": 1}


def test_output_behind_the_end() -> None:
    """The terminator came too early; who stops there has not had the rest."""
    verdict = through(AFTER)
    assert told(verdict) == [("after_terminal", ("source",), "certain", 3, (6, 8))]


def test_what_may_follow_an_end() -> None:
    """A second terminator, usage, a ping, or another answer."""
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
    again = [chunk({"role": "assistant", "content": ""}), *ANSWER]
    for more in ([ANSWER[-1]], [usage], again):
        assert told(through([*ANSWER, *more])) == []


def test_a_lost_delta_that_the_whole_text_confirms() -> None:
    """One number is missing, and with it what the provider's own snapshot has there."""
    body = message()
    verdict = through([*body[:5], *body[6:]], **RESPONSES)
    assert told(verdict) == [("gap", ("source",), "certain", 1, (5, 5))]
    assert verdict["findings"][0]["exact"]
    assert verdict["short"] == "SOURCE lost 1 event before event 5"
    assert notes(verdict) == {"holes": 1, "odd_text": 1}


def test_a_delta_that_came_twice_from_the_provider() -> None:
    """Under one number."""
    body = message()
    verdict = through([*body[:6], body[5], *body[6:]], **RESPONSES)
    assert told(verdict) == [("duplicate", ("source",), "certain", 1, (6, 6))]


def test_deltas_in_another_order_than_their_numbers() -> None:
    """The snapshot has them in that of the numbers."""
    body = message()
    verdict = through([*body[:5], body[6], body[5], *body[7:]], **RESPONSES)
    assert told(verdict) == [("reorder", ("source",), "certain", 1, (6, 6))]


@pytest.mark.parametrize("gone", [(1,), (2,), (1, 2)])
def test_holes_alone_are_a_note(gone: tuple[int, ...]) -> None:
    """A proxy before the gateway that filters events leaves them."""
    body = [event for n, event in enumerate(message()) if n not in gone]
    verdict = through(body, **RESPONSES)
    assert (told(verdict), verdict["integrity"]) == ([], "intact")
    assert notes(verdict) == {"holes": len(gone)}


def test_a_whole_text_that_differs_is_a_note() -> None:
    """Filters and imitations make such."""
    body = message()
    body[5] = body[5].replace(b"was", b"***")
    verdict = through(body, **RESPONSES)
    assert (told(verdict), notes(verdict), verdict["integrity"]) == ([], {"odd_text": 1}, "intact")


def anthropic(*events: dict[str, Any]) -> list[bytes]:
    """Events of the Messages API."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def blocks(*, start: bool, stop: bool, begun: bool = True) -> list[bytes]:
    """A message of one block, in order or not."""
    text = {"type": "text_delta", "text": "words"}
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant"}} if begun else None,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}} if start else None,
        {"type": "ping"},
        *[{"type": "content_block_delta", "index": 0, "delta": text}] * 3,
        {"type": "content_block_stop", "index": 0} if stop else None,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return anthropic(*(event for event in events if event is not None))


MESSAGES = {"path": "/v1/messages"}


def test_output_of_a_block_that_was_never_begun() -> None:
    """It ends like one that had begun: its beginning is what never came, or never was."""
    verdict = through(blocks(start=False, stop=True), **MESSAGES)
    assert told(verdict) == [("malformed", ("source",), "certain", 3, (2, 4))]
    assert not verdict["findings"][0]["exact"]
    assert verdict["findings"][0]["sentence"].startswith("At least 3 events reached the gateway broken: the part of")


def test_a_server_that_has_no_blocks_loses_nothing_by_that() -> None:
    """Many that imitate the API begin and end none: told as a note."""
    verdict = through(blocks(start=False, stop=False), **MESSAGES)
    assert (told(verdict), verdict["integrity"], notes(verdict)) == ([], "intact", {"odd_order": 3})


def test_order_that_costs_no_output_is_a_note() -> None:
    """A block that starts twice, or stops twice."""
    body = blocks(start=True, stop=True)
    for odd in ([*body[:2], *body[1:]], [*body[:7], *body[6:]]):
        verdict = through(odd, **MESSAGES)
        assert (told(verdict), notes(verdict)) == ([], {"odd_order": 1})


def test_where_the_beginning_was_not_seen_nothing_is_judged() -> None:
    """It may be the rest of a message."""
    assert told(through(blocks(start=False, stop=True, begun=False), **MESSAGES)) == []


PIECES = ["Here: ", "{", '"a"', ": ", "[1, ", "]", "}", " and ", '{"b": 1}', "{x"]


@pytest.mark.parametrize("done", [True, False])
def test_a_body_of_words_is_of_another_format(done: bool) -> None:
    """Small servers send bare pieces of text; one that looks like a broken object is the answer's, and all came."""
    body = [*(f"data: {piece}\n\n".encode() for piece in PIECES), *([ANSWER[-1]] if done else [])]
    verdict = through(body, parser=None, announced=("wire",))
    assert (told(verdict), verdict["ending"]["class"]) == ([], "completed")


@pytest.mark.parametrize("known", [chunk({"role": "assistant"}), chunk({"content": "a"}), chunk({}, finish="stop")])
def test_a_single_event_of_the_format_makes_it_this_one(known: bytes) -> None:
    """Then an object that is broken is broken, whatever words stand beside it."""
    body = [known, b"data: ping\n\n", GLUED, ANSWER[-1]]
    assert told(through(body)) == [("malformed", ("source",), "certain", 1, (1, 2))]


def test_how_many_are_words_is_told_at_the_end() -> None:
    """Where the closing block is lost, what cannot be read may all be words."""
    events = [*answer(range(1, 9), finish=False, done=False), Event(parts=MALFORMED, result="malformed"), Event(10)]
    made = How("wire", extra=((UPSTREAM_NOISE, 1),)).blocks(events, (9,))
    assert told(judge(made, settled=True)) == []
    assert told(judge(made[:1], settled=True)) == []


# --------------------------------------------------------------------------- who is accused


def test_without_gateway_in_the_gateway_may_have_done_it() -> None:
    """The first point held accuses all that lies before it."""
    assert told(through(BROKEN, upstream=None)) == [("malformed", ("source", "gateway"), "narrowed", 1, (3, 3))]


def test_without_a_gateway_everything_before_the_client_may_have() -> None:
    """Never certain, and never the client's own code."""
    verdict = through(BROKEN, upstream=None, sent=None)
    assert told(verdict) == [("malformed", ("source", "gateway", "transport"), "narrowed", 1, (3, 3))]


def test_it_is_told_once() -> None:
    """By the first point; two clients and gateway out saw the same."""
    stream = Stream()
    stream.play(Play(BROKEN, proper(), BROKEN, BROKEN))
    stream.play(Play(BROKEN, proper(), None))
    assert told(stream.verdict()) == [("malformed", ("source",), "certain", 1, (3, 3))]


def test_an_attempt_that_another_one_replaced_accuses_nobody() -> None:
    """What was broken in it is not in the answer."""
    broken = [*answer(range(1, 5), finish=False, done=False), Event(parts=OTHER, result="malformed")]
    whole = answer(range(20, 40))
    first = replace(How("ingress", leg=0, end="reset", complete=False, recorder="a0" * 8), expected=("egress",))
    second = replace(How("ingress", leg=1, recorder="a1" * 8), expected=("egress",))
    found = [
        *first.blocks(broken),
        *second.blocks(whole),
        *How("egress", legs=("a0" * 8, "a1" * 8), expected=("ingress",)).blocks(whole),
    ]
    assert told(judge(found, settled=True)) == []


def test_an_upstream_that_is_not_known_to_feed_the_answer_accuses_nobody() -> None:
    """The answer has nothing of it: a side call, or a text of the gateway's own."""
    broken = [*answer(range(1, 9)), Event(parts=OTHER, result="malformed")]
    assert told(judge(path(broken, answer(range(50, 80)), None), settled=True)) == []


def test_what_the_gateway_did_besides_does_not_clear_the_source() -> None:
    """It lost an event of a stream that had been broken before: the second cannot be proven, the first can."""
    less = [*BROKEN[:5], *BROKEN[6:]]
    verdict = through(BROKEN, sent=less, received=less)
    assert told(verdict) == [("malformed", ("source",), "certain", 1, (3, 3))]


def test_the_gateway_in_front_does_not_accuse_the_gateway_behind() -> None:
    """The inner one tells for itself; where it is silent, nobody is named, and nothing is called intact."""
    both = Stream().play(Play(None, sent=BROKEN, upstream=BROKEN, announced=()))
    both.play(replace(Play(BROKEN, proper(), BROKEN, BROKEN), hop=1))
    verdict = both.verdict()
    assert told(verdict) == [("malformed", ("source",), "certain", 1, (3, 3))]
    assert verdict["findings"][0]["exchange"] == both.identity.exchange

    alone = Stream().play(replace(Play(BROKEN, None, BROKEN, BROKEN, announced=("wire",)), hop=1)).verdict()
    assert (told(alone), alone["integrity"]) == ([], "unproven")
    assert "what one gateway read was broken before, at another gateway or at the provider" in alone["why"]["unknown"]


def test_the_inner_gateways_fault_is_not_its_source() -> None:
    """It broke what came in order: the outer one, which read it broken, accuses nobody."""
    both = Stream().play(Play(None, sent=BROKEN, upstream=ANSWER, announced=()))
    both.play(replace(Play(BROKEN, proper(), BROKEN, BROKEN), hop=1))
    assert told(both.verdict()) == [("malformed", ("gateway",), "certain", 1, (3, 3))]


def test_a_gateway_that_names_what_it_read_accuses_no_source() -> None:
    """It began before it knew its place; the exchange it read is named, and is not held."""
    stream = Stream().play(Play(BROKEN, proper(), BROKEN, BROKEN))
    for block in stream.sink.blocks:
        if block.point == "ingress" and block.final:
            block.extra[UPSTREAM_EXCHANGE] = "9" * 16
    assert told(stream.verdict()) == []


def test_the_rest_of_an_answer_repeats_nothing() -> None:
    """An exchange that resumes has no upstream of its own."""
    stream = Stream()
    sent = stream.numbered(BROKEN)
    begun = Play(sent[:6], proper(), sent[:6], BROKEN, sent_end="disconnected", received_end="reset", stamp="id")
    rest = Play(sent[2:], proper(), sent[2:], attempt=1, first=2, stamp="id")
    assert told(stream.play(begun).play(rest).verdict()) == [("malformed", ("source",), "certain", 1, (3, 3))]


# --------------------------------------------------------------------------- what a record may say


def with_told(*entries: object, extra: tuple[tuple[str, object], ...] = (), **how: Any) -> dict[str, Any]:
    """A whole path whose first record tells this of its upstream."""
    events = answer(range(1, 12))
    ingress = How("ingress", leg=0, extra=((UPSTREAM_FAULTS, list(entries)), *extra), **how)
    parsed = handed_on(events)
    return judge(path(events, events, events, parsed, used(parsed), ingress=ingress), settled=True)


def test_what_a_recorder_told_is_read_leniently() -> None:
    """Entries that are none are passed over; a `+` makes a lower bound of a count."""
    odd = ("", "gap", "gap x 1 1", "gap 1 9 8", "gap 0 1 1", "gap 1 1 99", "tail 1 1 1", 7, "gap 1 1 1 1", "gap ² 1 1")
    assert told(with_told(*odd, "gap " + "9" * 5000 + " 1 1")) == []
    found = with_told("gap 2+ 3 4")
    assert told(found) == [("gap", ("source",), "certain", 2, (3, 4))]
    assert not found["findings"][0]["exact"]


@pytest.mark.parametrize("edited", [True, False], ids=["filters", "says nothing"])
@pytest.mark.parametrize("held", [("egress", "wire"), ("wire",)], ids=["gateway out first", "only the client"])
def test_a_gateway_that_filters_leaves_holes_behind_it(held: tuple[str, ...], edited: bool) -> None:
    """What it says of itself, or would have said in the record that is lost, accuses nobody before it."""
    events, holes = answer(range(1, 12)), (UPSTREAM_FAULTS, ["gap 1 3 3"])
    says = ((EDITED, ["filter"]),) if edited else ()
    hows = {"egress": How("egress", extra=(holes, *says)), "wire": How("wire", extra=(holes,))}
    verdict = judge([b for b in path(None, events, events, **hows) if b.point in held], settled=True)
    accused = [] if edited or "egress" not in held else [("gap", ("source", "gateway"), "narrowed", 1, (3, 3))]
    assert told(verdict) == accused


def test_a_gateway_whose_own_reading_is_lost_may_have_gone_over_to_another_attempt() -> None:
    """Then parts of the first answer stand before those of the second, and nobody broke the format."""
    events = answer(range(1, 12))
    egress = How("egress", legs=(LEG,), extra=((UPSTREAM_FAULTS, ["malformed 1 6 6"]),))
    blocks = path(events, events, events, egress=egress)
    assert told(judge([b for b in blocks if b.point != "ingress"], settled=True)) == []


def test_holes_that_a_client_without_a_gateway_reads_have_no_other_explanation() -> None:
    """Nobody announced a gateway that could have filtered."""
    wire = How("wire", extra=((UPSTREAM_FAULTS, ["gap 1 3 3"]),))
    found = told(judge(path(None, None, answer(range(1, 12)), wire=wire), settled=True))
    assert [(kind, suspects) for kind, suspects, *_ in found] == [("gap", ("source", "gateway", "transport"))]


def test_without_a_key_whose_role_is_known_nothing_is_certain() -> None:
    """Narrowed, to the source alone."""
    assert told(with_told("gap 1 3 3", role=None)) == [("gap", ("source",), "narrowed", 1, (3, 3))]


def test_a_lost_closing_block_costs_the_finding() -> None:
    """What it told is not known, and nothing else is made of that."""
    events = answer(range(1, 12))
    ingress = How("ingress", leg=0, extra=((UPSTREAM_FAULTS, ["gap 1 3 3"]),))
    found = path(events, events, events, ingress=ingress, cuts=lambda n: [4, 8])
    kept = [block for block in found if not (block.point == "ingress" and block.final)]
    assert told(judge(kept, settled=True)) == []


def test_noise_is_taken_off_what_cannot_be_read() -> None:
    """Two cannot be read, one of them was a word between events."""
    events = answer(range(1, 12))
    odd = Event(parts=OTHER, result="malformed")
    body = [*events[:3], odd, *events[3:6], odd, *events[6:]]
    ingress = How("ingress", leg=0, extra=((UPSTREAM_NOISE, 1),))
    verdict = judge(path(body, body, None, ingress=ingress), settled=True)
    assert told(verdict) == [("malformed", ("source",), "certain", 1, (3, 7))]
    assert verdict["findings"][0]["about"]


def test_less_than_no_noise_is_none() -> None:
    """A recorder that counts wrongly invents no event that cannot be read, and the judge goes on."""
    events = [*answer(range(1, 12)), Event(70, TEXT, result="after_terminal")]
    ingress = How("ingress", leg=0, extra=((UPSTREAM_NOISE, -3),))
    assert told(judge(path(events, events, None, ingress=ingress), settled=True)) == []


@pytest.mark.parametrize(("late", "integrity"), [(True, "unproven"), (False, "intact")])
def test_what_lost_rows_hide_of_the_end_is_not_in_order(late: bool, integrity: str) -> None:
    """More events said something than stand before the end, by the counts; which ones, the lost rows would tell."""
    events = [*answer(range(1, 12)), *([Event(70, TEXT, result="after_terminal")] if late else [])]
    ingress = How("ingress", leg=0, extra=((PROVIDER_NAME, "openai"),))
    blocks = [summary(b) if b.point == "ingress" else b for b in path(events, events, None, ingress=ingress)]
    verdict = judge(blocks, settled=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], integrity)
    assert any("behind the end" in reason for reason in verdict["why"]["unknown"]) is late


def test_what_follows_the_end_of_an_unknown_format_proves_nothing() -> None:
    """Where only the framing is known, every field is a word of the answer."""
    late = Event(70, TEXT, result="after_terminal")
    events = [*answer(range(1, 12)), late]
    for provider, count in (("openai", 1), ("unknown", 0)):
        ingress = How("ingress", leg=0, extra=((PROVIDER_NAME, provider),))
        assert len(judge(path(events, events, None, ingress=ingress), settled=True)["findings"]) == count
    second = [*events[:-1], Event(parts=ROLE, result="after_terminal"), late, Event(parts=TERMINAL)]
    ingress = How("ingress", leg=0, extra=((PROVIDER_NAME, "openai"),))
    assert told(judge(path(second, second, None, ingress=ingress), settled=True)) == []


def test_whole_texts_behind_the_end_are_no_output() -> None:
    """They repeat what was said."""
    late = Event(70, SNAPSHOT, result="after_terminal")
    events = [*answer(range(1, 12)), late]
    ingress = How("ingress", leg=0, extra=((PROVIDER_NAME, "openai"),))
    found = path(events, events, None, ingress=ingress)
    for block in found:
        columns = {name: list(values) for name, values in block.columns().items()}
        columns["content"][-1] = 9
        block.rows = rows.encode(columns, block.row_count)
    assert told(judge(found, settled=True)) == []


def test_a_body_that_is_no_stream_is_not_looked_into() -> None:
    """What nobody could read of it is told by the ending."""
    assert told(through([b"<!doctype html>\n", b"<html>", b"<body>no</body>"], parser=None)) == []
    misframed = How("ingress", leg=0, extra=((MISFRAMED, "html"),))
    broken = [*answer(range(1, 9)), Event(parts=OTHER, result="malformed")]
    assert told(judge(path(broken, None, None, ingress=misframed), settled=True)) == []


def test_a_record_with_a_fault_of_ours_proves_nothing_at_its_end() -> None:
    """What its profile had understood by then is no whole stream."""
    fault = ((OBSERVER_FAULT, "ValueError"),)
    assert told(with_told("gap 1 3 3", extra=fault)) == []


# --------------------------------------------------------------------------- nothing found


def test_no_fault_is_not_innocence() -> None:
    """Where nothing speaks against the source, it is not cleared: what it lost inside, nobody saw."""
    verdict = through(ANSWER)
    assert verdict["summary"].endswith("displaced: no fault observed below source.")
    assert "source" not in verdict["why"]["cleared"]
    assert "loss inside the provider" in verdict["why"]["unknown"]


def test_where_the_source_ended_it_or_was_not_read_that_is_not_said() -> None:
    """It would be no news, or not known."""
    cut = ANSWER[:4]
    assert "no fault" not in through(cut)["summary"]
    assert "no fault" not in through(ANSWER, upstream=None)["summary"]
    assert "no fault" not in through(BROKEN)["summary"]


def test_an_end_without_its_blank_line() -> None:
    """The finish came whole: not cut. Both readings of it are right, so nobody behind it is accused."""
    body = [*ANSWER[:-2], ANSWER[-2].rstrip(b"\n")]
    for parser, ending in ((proper(), ("protocol_violation", "source")), (flushes, ("completed", "source"))):
        verdict = through(body, parser=parser)
        assert ((verdict["ending"]["class"], verdict["ending"]["by"]), told(verdict)) == (ending, [])
    piece = [*ANSWER[:3], ANSWER[3].rstrip(b"\n")]
    assert through(piece)["ending"]["class"] == "upstream_truncated"
    half = [*ANSWER[:-2], ANSWER[-2].rstrip(b"\n")[:-9]]
    assert through(half)["ending"]["class"] == "upstream_truncated"


def test_an_error_without_its_blank_line_is_an_error() -> None:
    """Whoever takes the end for a blank line reads it; who does not, has an answer that just ends."""
    error = b'data: {"error":{"message":"no"},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    assert through([*ANSWER[:3], error])["ending"]["class"] == "upstream_error"


def flushes(pieces: Any) -> Any:
    """A parser that takes the end of the body for a blank line."""
    body = b"".join(pieces)
    for event in body.strip().split(b"\n\n"):
        yield event.removeprefix(b"data: ").decode()


def test_a_blank_line_that_was_lost_on_the_way() -> None:
    """It left the gateway in order."""
    cut = [*ANSWER[:-2], ANSWER[-2].rstrip(b"\n")]
    verdict = through(ANSWER, received=cut)
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("protocol_violation", "transport")


def test_the_leg_of_a_plain_path_is_the_one_built() -> None:
    """What the builders here call the leg is what gateway out lists."""
    assert How("ingress", leg=0).blocks(answer([1]))[0].recorder == LEG
    assert with_told(extra=((UPSTREAM_HOLES, 2),))["notes"][0]["kind"] == "holes"
