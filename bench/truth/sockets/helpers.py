"""The SDKs' own helpers over their streams, which make events of several sorts out of each one."""

from __future__ import annotations

from typing import Any

from streamwitness import applied, stream_id
from streamwitness.client.applying import Applied

from .scenario import Notebook
from .sdks import anthropic_client, openai_client
from .using import use


class Reporting:
    """An application that reports whatever a helper hands it, and shows the text that the helper has put together."""

    def __init__(self, notes: Notebook, answer: Applied) -> None:
        self._notes, self._answer = notes, answer

    def feed(self, event: Any) -> None:
        """Take one event."""
        self._notes.taken += 1
        with self._answer.event(event):
            pass

    def drain(self) -> None:
        """The stream has come to its end."""

    def finish(self) -> None:
        """The stream is over, or it is left."""


async def read_openai(origin: str, notes: Notebook) -> None:
    """`chat.completions.stream`."""
    async with openai_client(origin, notes) as client, client.chat.completions.stream(model="m", messages=[]) as stream:
        await _read(notes, stream)


async def read_responses(origin: str, notes: Notebook) -> None:
    """`responses.stream`."""
    async with openai_client(origin, notes) as client, client.responses.stream(model="m", input="x") as stream:
        await _read(notes, stream)


async def read_anthropic(origin: str, notes: Notebook) -> None:
    """`messages.stream`."""
    async with (
        anthropic_client(origin, notes) as client,
        client.messages.stream(model="m", messages=[], max_tokens=9) as stream,
    ):
        await _read(notes, stream)


async def _read(notes: Notebook, stream: Any) -> None:
    notes.stream = stream_id(stream) or notes.stream
    with applied(stream) as answer:
        await use(notes, stream, Reporting(notes, answer))
