"""applied(): what the application did with each event, named by the object that it was handed."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from contextlib import suppress
from typing import Any

import httpx
import pytest

from streamwitness import faults
from streamwitness.client import applied, instrument, watch
from streamwitness.reducers import Answer
from streamwitness.semconv import EARLIER_RECORD, FOREIGN, MISSING, RESULT, SHARED_RECORD, TEXT
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import BODY, CANARY, RawServer, event, reset, stream

DICTS: list[dict[str, Any]] = [json.loads(e.removeprefix(b"data: ")) for e in BODY.split(b"\n\n")[:9]]


def watched() -> Any:
    """A watched stream of the nine chunks, each an object of its own."""
    return watch([json.loads(json.dumps(item)) for item in DICTS], profile="openai_chat")


def test_events_are_recorded_with_what_they_are_of(sink: MemorySink) -> None:
    """A healthy application: nine rows of nine positions, closed with the stream."""
    chunks = watched()
    report = applied(chunks)
    for chunk in chunks:
        with report.event(chunk):
            chunk.clear()  # an application may use its chunk up
    block, parsed = sink.closing("applied"), sink.closing("parsed")
    assert list(block.columns()["of"]) == list(range(9))
    assert set(block.columns()["result"]) == {RESULT["applied"]}
    assert (block.end, block.of, block.totals["content"]) == ("eof", "parsed", parsed.totals["content"])
    assert (block.regressions, block.totals["gaps"], SHARED_RECORD in block.extra) == (0, 0, False)


def test_a_reducer_that_raises(sink: MemorySink) -> None:
    """The exception stays what it is; its row holds nothing as applied, the record ends as raised."""
    chunks = watched()
    error = KeyError(CANARY)

    def reduce() -> None:
        with applied(chunks) as report:
            for chunk in chunks:
                with report.event(chunk):
                    if chunk == DICTS[2]:
                        raise error

    with pytest.raises(KeyError) as caught:
        reduce()
    assert caught.value is error
    chunks.close()
    block = sink.closing("applied")
    assert list(block.columns()["result"])[-1] == RESULT["raised"]
    assert list(block.columns()["parts"])[-1] == 0
    assert (block.end, block.end_detail, block.totals["events"]) == ("raised", "KeyError", 3)
    assert CANARY not in repr(block.attributes())


def test_a_stream_closed_after_a_raise(sink: MemorySink) -> None:
    """It gives up because its own code raised: that is how its record ends, though the point before says cancelled."""
    chunks = watched()
    report = applied(chunks)
    with suppress(KeyError), report.event(next(chunks)):
        raise KeyError(CANARY)
    chunks.close()
    ends = {point: (sink.closing(point).end, sink.closing(point).end_detail) for point in ("parsed", "applied")}
    assert ends == {"parsed": ("cancelled", ""), "applied": ("raised", "KeyError")}


def test_a_stream_that_ends_after_a_raise(sink: MemorySink) -> None:
    """The application has read it to its end: what it raised of the last event did not stop anything."""
    chunks = watched()
    report = applied(chunks)
    for chunk in chunks:
        with suppress(KeyError), report.event(chunk):
            raise KeyError(CANARY)
    assert (sink.closing("applied").end, sink.closing("applied").totals["events"]) == ("eof", 9)


def test_an_interruption_blames_nobody(sink: MemorySink) -> None:
    """A task that is cancelled while it applies an event has not raised: the event counts as not reached."""
    chunks = watched()
    report = applied(chunks)

    def reduce() -> None:
        with report.event(next(chunks)):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        reduce()
    chunks.close()
    report.close()
    assert (sink.closing("applied").totals["events"], sink.closing("applied").end) == (0, "cancelled")


def test_results_are_reported(sink: MemorySink) -> None:
    """Ignored holds nothing, partial holds the parts that were named."""
    chunks = watched()
    with applied(chunks) as report:
        report.report(next(chunks), "ignored")
        report.report(next(chunks), "partial", parts=["text"])
        report.report(next(chunks))
    chunks.close()
    block = sink.closing("applied")
    assert list(block.columns()["parts"]) == [0, TEXT, TEXT]
    assert list(block.columns()["result"]) == [RESULT["ignored"], RESULT["partial"], RESULT["applied"]]
    assert block.end == "cancelled"


def test_unknown_results_and_parts_are_refused(sink: MemorySink) -> None:
    """Mistakes of the caller are errors, also where nothing is observed."""
    with pytest.raises(ValueError, match="unknown result 'aplied'"):
        applied(object()).report({}, "aplied")
    with pytest.raises(ValueError, match="unknown part 'txt'"):
        applied(object()).report({}, parts=["txt"])


def test_objects_that_were_not_handed_on_have_no_position(sink: MemorySink) -> None:
    """A copy is another object; an explicit position is taken as it is."""
    chunks = watched()
    with applied(chunks) as report:
        first, second = next(chunks), next(chunks)
        report.report(dict(first))
        report.report(dict(second), of=1)
    chunks.close()
    assert list(sink.closing("applied").columns()["of"]) == [MISSING, 1]


def test_what_is_collected_first_is_still_applied(sink: MemorySink) -> None:
    """An application that reads to the end and applies afterwards is recorded until it lets go."""
    chunks = watched()
    report = applied(chunks)
    for chunk in list(chunks):
        report.report(chunk)
    assert [block for block in sink.at("applied") if block.final] == []
    del report
    gc.collect()
    block = sink.closing("applied")
    assert (list(block.columns()["of"]), block.end) == (list(range(9)), "eof")


def test_what_a_reorder_buffer_held_back_is_still_applied(sink: MemorySink) -> None:
    """The first events are applied as they come, others wait and are let go at the end: the record waits for them."""
    chunks = watched()
    with applied(chunks) as report:
        waiting = []
        for position, chunk in enumerate(chunks):
            if position < 3:
                report.report(chunk)
            else:
                waiting.append(chunk)
        for chunk in waiting:
            report.report(chunk, "gap")
    block = sink.closing("applied")
    assert (list(block.columns()["of"]), block.end) == (list(range(9)), "eof")


def test_a_response_without_a_watched_parser(sink: MemorySink) -> None:
    """Then positions are those at the wire, where the application knows them; content is still counted."""
    with RawServer(stream()) as server, httpx.Client() as client:
        response = instrument(client).post(server.url + "/v1/chat/completions")
        with applied(response) as report:
            for position, item in enumerate(DICTS):
                report.report(item, of=position)
    block, wire = sink.closing("applied"), sink.closing("wire")
    assert (block.of, list(block.columns()["of"]), block.end) == ("wire", list(range(9)), "eof")
    assert (block.exchange, block.totals["content"]) == (wire.exchange, wire.totals["content"])


def test_own_objects_are_judged_by_their_position(sink: MemorySink) -> None:
    """What the application made itself need not be readable."""
    chunks = watched()
    with applied(chunks) as report:
        next(chunks)
        report.report(object(), of=0)
    chunks.close()
    assert list(sink.closing("applied").columns()["of"]) == [0]


def test_a_position_that_has_not_come_is_none(sink: MemorySink) -> None:
    """Who counts from one, or counts something else, names no events of this stream."""
    chunks = watched()
    with applied(chunks) as report:
        for of in (1, -1, 500):
            report.report(dict(next(chunks)), of=of)
    chunks.close()
    assert set(sink.closing("applied").columns().get("of", [MISSING])) == {MISSING}


def test_unobserved_streams_are_fine() -> None:
    """Nothing observed, mode off: the application's block runs, nothing is recorded."""
    with recording(mode="off") as sink:
        chunks = watch(list(DICTS))
        with applied(chunks) as report, report.event(next(chunks)):
            pass
        report.close()
    assert sink.blocks == []


def test_a_fault_of_ours_stays_ours(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug while looking at a chunk marks the record, and the application goes on."""

    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    chunks = watched()
    report = applied(chunks)
    monkeypatch.setattr("streamwitness.client.reader.Reader.read", broken)
    with faults.quiet():
        for chunk in chunks:
            with report.event(chunk):
                pass
        report.close()
    assert sink.closing("applied").extra["stream.observer_fault"] == "RuntimeError"


# --------------------------------------------------------------------------- what the application shows


def test_the_result_is_digested_as_the_point_before_digests_it(sink: MemorySink) -> None:
    """The same text has the same digest at both points; shown behind the stream, within the block."""
    chunks, text = watched(), ""
    with applied(chunks) as report:
        for chunk in chunks:
            with report.event(chunk):
                text += chunk["choices"][0]["delta"].get("content", "")
        report.result(text)
    assert sink.closing("applied").slot_digests == sink.closing("parsed").slot_digests != ()
    assert (sink.closing("applied").end, CANARY in repr(sink.closing("applied").attributes())) == ("eof", False)


def test_another_result_has_another_digest(sink: MemorySink) -> None:
    """And its own size; the newest of a text counts, shown while the stream is read."""
    chunks = watched()
    report = applied(chunks)
    text = ""
    for chunk in chunks:
        text += (chunk["choices"][0]["delta"].get("content") or "").strip()
        report.report(chunk)
        report.result(text)
    (shown,), (given,) = sink.closing("applied").slot_digests, sink.closing("parsed").slot_digests
    assert shown.split()[0] == given.split()[0] == "0/text/0"
    assert (shown.split()[1] != given.split()[1], shown.split()[2]) == (True, str(len(text.encode())))


def test_an_answer_shows_itself(sink: MemorySink) -> None:
    """An `Answer` of the reducers is read when the record closes, however early it was shown."""
    chunks, answer = watched(), Answer()
    report = applied(chunks)
    report.result(answer)
    for chunk in chunks:
        outcome = answer.apply(chunk)
        report.report(chunk, outcome.result, parts=outcome.parts)
    assert sink.closing("applied").slot_digests == sink.closing("parsed").slot_digests != ()


def test_a_block_that_goes_on_behind_the_stream_ends_as_the_stream_did(sink: MemorySink) -> None:
    """What the application raises after it has read everything stopped nothing."""
    chunks = watched()
    with suppress(KeyError), applied(chunks) as report:
        for chunk in chunks:
            report.report(chunk)
        assert [block for block in sink.at("applied") if block.final] == []
        raise KeyError
    assert sink.closing("applied").end == "eof"


def test_nothing_is_shown_where_no_digests_are_made() -> None:
    """Level `rows`, and where nothing is observed."""
    with recording(level="rows") as sink:
        chunks = watched()
        with applied(chunks) as report:
            report.result("all of it")
        chunks.close()
        assert sink.closing("applied").slot_digests == ()
    applied(object()).result("all of it")


# --------------------------------------------------------------------------- another stream's events


def test_an_event_of_another_stream_is_counted_and_is_no_event_of_this_one(sink: MemorySink) -> None:
    """The very object that another stream handed on, built in here: counted; refused here: nothing at all."""
    here, there = watched(), watched()
    with applied(here) as report:
        for chunk, other in zip(here, there, strict=True):
            report.report(chunk)
            report.report(other, "wrong_stream" if "content" not in other["choices"][0]["delta"] else "applied")
    block = sink.closing("applied")
    assert (block.extra[FOREIGN], block.totals["events"]) == (8, 9)
    assert list(block.columns()["of"]) == list(range(9))


@pytest.mark.parametrize("back", [False, True])
def test_who_goes_on_with_another_answer_has_mixed_in_nothing(back: bool, sink: MemorySink) -> None:
    """The stream is over: what follows is another answer, and so is the text then; unless its own events follow."""
    here, there = watched(), watched()
    with applied(here) as report:
        held = list(here)
        for chunk in held[: 5 if back else 9]:
            report.report(chunk)
        for chunk in there:
            report.report(chunk)
        for chunk in held[5 if back else 9 :]:
            report.report(chunk)
        report.result("of both")
    block = sink.closing("applied")
    assert (block.extra.get(FOREIGN, 0) > 0, bool(block.slot_digests)) == (back, back)


def test_copies_and_own_objects_are_nobody_elses(sink: MemorySink) -> None:
    """Equal to what another stream handed on is not the same."""
    here, there = watched(), watched()
    with applied(here) as report:
        next(there)
        report.report(dict(next(here)))
        report.report(json.loads(json.dumps(DICTS[1])))
    here.close()
    assert FOREIGN not in sink.closing("applied").extra


def test_an_object_that_two_streams_hand_on_is_nobody_elses(sink: MemorySink) -> None:
    """A parser that yields one object again and again: it was handed on here, too."""
    one = json.loads(json.dumps(DICTS[0]))
    here, there = watch([one, one], profile="openai_chat"), watch([one], profile="openai_chat")
    next(there)
    with applied(here) as report:
        for chunk in here:
            report.report(chunk)
    block = sink.closing("applied")
    assert (FOREIGN in block.extra, list(block.columns().get("of", [MISSING] * 2))) == (False, [0, MISSING])


# --------------------------------------------------------------------------- several who report of one stream


def test_two_that_take_turns_share_a_record(sink: MemorySink) -> None:
    """Neither could be lost alone, and the one that closes first leaves the record to the other."""
    chunks = watched()
    with applied(chunks) as outer:
        with applied(chunks) as inner:
            for at, chunk in enumerate(chunks):
                with (outer, inner)[at % 2].event(chunk):
                    pass
        assert sink.blocks == [*sink.at("parsed")]
        outer.result("all of it")
    block = sink.closing("applied")
    assert (list(block.columns()["of"]), block.end, len(block.slot_digests)) == (list(range(9)), "eof", 1)
    assert (EARLIER_RECORD in block.extra, block.extra[SHARED_RECORD]) == (False, True)


def test_one_that_goes_on_where_another_left_shares_its_record(sink: MemorySink) -> None:
    """One component shows the first events and is left, by an exception, too; another shows the rest."""
    chunks = watched()
    with suppress(KeyError), applied(chunks) as report, report.event(next(chunks)):
        raise KeyError
    applied(chunks).report(next(chunks))
    with applied(chunks) as report:
        for chunk in chunks:
            report.report(chunk)
    block = sink.closing("applied")
    assert (list(block.columns()["of"]), block.end) == (list(range(9)), "eof")


def test_who_leaves_early_has_stopped_and_not_the_stream(sink: MemorySink) -> None:
    """Where nobody goes on the record ends as it was left, however the stream ends later."""
    chunks = watched()
    with applied(chunks) as report:
        report.report(next(chunks))
    assert sink.at("applied") == []
    list(chunks)
    assert (sink.closing("applied").end, sink.closing("parsed").end) == ("cancelled", "eof")


def test_who_comes_behind_a_closed_record_says_so_in_every_block(sink: MemorySink) -> None:
    """What it does not have may stand in the other."""
    chunks = watched()
    held = list(chunks)
    for begin, stop in ((0, 5), (5, 9)):
        with applied(chunks) as report:
            for chunk in held[begin:stop]:
                report.report(chunk)
    first, second = sink.at("applied")
    assert (EARLIER_RECORD in first.extra, second.extra[EARLIER_RECORD]) == (False, True)


def test_of_several_who_show_a_text_the_longest_counts(sink: MemorySink) -> None:
    """A title that is shown behind the page's whole text is not the answer; nor is what its maker showed before."""
    chunks, text = watched(), ""
    with applied(chunks) as title:
        with applied(chunks) as page:
            for chunk in chunks:
                page.report(chunk)
                text += chunk["choices"][0]["delta"].get("content") or ""
                title.result(text)
            page.result(text)
        title.result(text[:3] + "…")
    assert sink.closing("applied").slot_digests == sink.closing("parsed").slot_digests != ()


def test_the_record_waits_for_each_who_is_behind(sink: MemorySink) -> None:
    """One raises at an event that the other takes up after the stream."""
    chunks = watched()
    log, page = applied(chunks), applied(chunks)
    held = []
    for at, chunk in enumerate(chunks):
        held.append(chunk)
        with suppress(KeyError), log.event(chunk):
            if at == 4:
                raise KeyError
    for chunk in held:
        page.report(chunk)
    assert sink.at("applied") == []
    page.close()
    block = sink.closing("applied")
    assert (list(block.columns()["of"]), block.end) == ([*range(9), *range(9)], "eof")


def test_threads_that_begin_at_once_share_a_record(sink: MemorySink) -> None:
    """Each takes an event in its turn; whoever is first makes the record."""
    chunks = watched()
    ready, turns = threading.Barrier(3), threading.Lock()

    def reduce() -> None:
        ready.wait()
        with applied(chunks) as report:
            ready.wait()
            for _ in range(3):
                with turns, report.event(next(chunks)):
                    pass

    workers = [threading.Thread(target=reduce) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert next(chunks, None) is None
    assert list(sink.closing("applied").columns()["of"]) == list(range(9))


def test_what_the_stream_raised_is_no_failure_of_who_collects_it(sink: MemorySink) -> None:
    """It leaves the application's block, which raised nothing of its own."""
    with (
        RawServer(stream([event("a")], end=False, then=reset)) as server,
        instrument(httpx.Client()).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        chunks = watch((json.loads(line[6:]) for line in response.iter_lines() if line), response=response)
        with suppress(httpx.TransportError), applied(chunks) as report:
            for chunk in list(chunks):
                report.report(chunk)
    assert (sink.closing("parsed").end, sink.closing("applied").end) == ("reset", "reset")
