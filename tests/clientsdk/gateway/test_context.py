"""The exchange by itself: who is in it, how long, and how many legs it lists."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from streamwitness.gateway.context import MAX_LEGS, GatewayExchange, bound, current
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink

pytestmark = pytest.mark.anyio

TYPE = "text/event-stream"


def exchange(sink: MemorySink | None = None, **settings: Any) -> GatewayExchange:
    return GatewayExchange(Runtime(ClientSettings(**settings), sink or MemorySink()), None)


async def test_tasks_and_threads_made_under_it_are_in_it() -> None:
    """They copy the context that they are made in; a thread made by hand does not."""
    here = exchange()

    async def task() -> Any:
        return current()

    with bound(here):
        assert current() is here
        assert await asyncio.create_task(task()) is here
        assert await asyncio.to_thread(current) is here
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(current()))
        thread.start()
        thread.join()
        assert found == [None]
    assert current() is None


def test_a_coroutine_that_ends_in_another_context_harms_nothing() -> None:
    """A generator closed by the garbage collector leaves the block where there is nothing to reset."""
    block = bound(exchange())
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert current() is None


def test_an_ended_exchange_is_none() -> None:
    """A server may leak the context into the next request, a task may outlive the answer."""
    here = exchange()
    with bound(here):
        here.leg_ids()
        assert current() is None
    assert here.leg("/", TYPE) is None


def test_legs_are_numbered_and_listed_in_order() -> None:
    """The index in the list is the leg's number."""
    sink = MemorySink()
    here = exchange(sink)
    egress = here.egress("/", TYPE)
    legs = [leg for leg in (here.leg("/", TYPE) for _ in range(3)) if leg is not None]
    here.unseen_leg()
    last = here.leg("/", TYPE)
    assert egress is not None
    assert last is not None
    for leg in (*legs, last):
        leg.close("eof")
    listed = here.leg_ids()
    assert [block.leg for block in sink.at("ingress")] == [0, 1, 2, 4]
    assert [listed[block.leg or 0] for block in sink.at("ingress")] == [block.recorder for block in sink.at("ingress")]
    assert len(listed) == 5


def test_legs_are_bounded() -> None:
    """Beyond the bound one more is listed, whose record never comes: the hop is unproven, not invented."""
    here = exchange()
    made = [here.leg("/", TYPE) for _ in range(MAX_LEGS + 10)]
    assert sum(leg is not None for leg in made) == MAX_LEGS
    assert len(here.leg_ids()) == MAX_LEGS + 1


def test_an_unsampled_exchange_makes_nothing() -> None:
    """No egress, no legs."""
    here = exchange(sample=0.0)
    assert here.egress("/", TYPE) is None
    assert here.leg("/", TYPE) is None
    here.unseen_leg()
    assert here.leg_ids() == ()


def test_blocks_are_children_of_the_span_that_was_active() -> None:
    """The host's trace shows where the stream belongs; without a span there is no parent."""
    sink = MemorySink()
    with TracerProvider().get_tracer("host").start_as_current_span("request") as span:
        inside = exchange(sink).egress("/", TYPE)
    outside = exchange(sink).egress("/", TYPE)
    for observer in (inside, outside):
        assert observer is not None
        observer.close("eof")
    context = span.get_span_context()
    assert [block.context for block in sink.blocks] == [(context.trace_id, context.span_id), None]


def test_what_passes_is_looked_at_in_the_order_it_passed_in() -> None:
    """Pieces read of a leg, in any thread, and pieces sent wait together: nobody overtakes."""
    here = exchange()
    seen: list[int] = []

    def look(item: tuple[object, int]) -> None:
        seen.append(item[1])

    for number in range(3):
        thread = threading.Thread(target=here.backlog.add, args=((look, number),))
        thread.start()
        thread.join()
    assert seen == []
    here.backlog.settle()
    assert seen == [0, 1, 2]
