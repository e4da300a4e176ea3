"""edited(): the gateway's own code says what it does to an answer on purpose, so that nobody calls it a fault.

    from streamwitness.gateway import edited

    async for chunk in upstream_answer:
        if flagged(chunk):
            edited("filter")
            continue
        yield chunk

What is declared is believed of content only. No declaration covers a made-up end, a swallowed error, events that are
doubled or out of order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamwitness import faults
from streamwitness.semconv import EDITS, Edit

from .context import answering


def edited(kind: Edit, *, scope: Mapping[str, Any] | None = None) -> None:
    """Declare, before the answer ends, that it is edited on purpose; once is enough.

    `filter`: events are left out, or everything from some event on. `merge`: the same content is cut into other events.
    `rewrite`: content is changed. Of the request being answered in this context, or of the one with this ASGI `scope`
    where there is no context (a thread made by hand). Does nothing outside of a request, after its answer, or with
    mode `off`. Raises ValueError for an unknown kind.
    """
    if kind not in EDITS:
        raise ValueError(f"unknown edit {kind!r}; known: {', '.join(EDITS)}")
    try:
        exchange = answering(scope)
        if exchange is not None:
            exchange.edited(kind)
    except Exception as error:
        faults.fault("gateway.edited", error)
