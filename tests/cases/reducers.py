"""Reducers that the reports are about: the application's code that builds the answer from events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from streamwitness.client.applying import Applied


def unguarded(events: Iterator[Any], answer: Applied) -> None:
    """Takes for granted that there is a choice in every chunk."""
    text = ""
    for event in events:
        with answer.event(event):
            text += _first(event)


def _first(event: Any) -> str:
    return "" if event == "[DONE]" else str(event["choices"][0]["delta"].get("content") or "")


def stops_after(n: int) -> Callable[[Iterator[Any], Applied], None]:
    """Takes n events, and then lets go of the stream."""

    def reduce(events: Iterator[Any], answer: Applied) -> None:
        for _, event in zip(range(n), events, strict=False):
            with answer.event(event):
                pass

    return reduce
