"""A bounded memory of stamped answers, so that a client that lost its connection goes on where it was. Opt-in.

    app.add_middleware(StreamWitness, replay=Replay(seconds=30))

    the client leaves            the app is not told: it goes on answering, into the buffer
    it comes back in time,       the next exchange of the stream: what it lacks from the buffer, then what the app
    with `Last-Event-ID`         still sends, at the client's pace
    it does not, or the buffer   the app is told that its client has gone, as if it had happened now
    has lost what it may lack

What is kept is content: it stays in this process's memory, for `seconds` after the client was last there or the answer
ended, and is given to nobody but a request with the stream's id, the same path and the same credentials.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from streamwitness.semconv import Stamp
from streamwitness.stamping import tag_of
from streamwitness.witness import Identity

from .asgi import Header, Receive, Scope, Send, value_of

_CREDENTIALS: Final = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie")
"""Request headers that say who asks. Whoever comes back must send them as they were."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How much is kept of each stream (`events`, `bytes`: the newest), for how long, and of how many streams.

    `seconds` runs from the moment that the client left or the answer ended. Raises ValueError for a bound below 1.
    """

    events: int = 2000
    bytes: int = 1 << 20
    seconds: float = 30.0
    streams: int = 256

    def __post_init__(self) -> None:
        for name in ("events", "bytes", "seconds", "streams"):
            if getattr(self, name) < 1:
                raise ValueError(f"Replay({name}={getattr(self, name)!r}): at least 1")


class Shelf:
    """The streams that are kept in this process."""

    def __init__(self, bounds: Replay) -> None:
        self._bounds = bounds
        self._kept: dict[bytes, Kept] = {}

    def keep(self, identity: Identity, kind: Stamp, headers: list[Header], scope: Scope) -> Kept | None:
        """Begin to keep an answer; None where nothing can wait for its client (no asyncio)."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        owner = _owner(identity.stream, scope)
        if (old := self._kept.get(owner)) is not None:
            old.give_up()
        while len(self._kept) >= self._bounds.streams:
            self._oldest().give_up()
        kept = Kept(self._bounds, identity, kind, headers, loop, lambda: self._forget(owner, kept))
        self._kept[owner] = kept
        return kept

    def find(self, stream: str, tag: str, number: int, scope: Scope) -> Follower | None:
        """What continues this stream after its event `number`, for the client that it was for; None: it cannot be."""
        kept = self._kept.get(_owner(stream, scope))
        if kept is None or tag_of(kept.identity.exchange) != tag:
            return None
        return kept.follow(number)

    def _oldest(self) -> Kept:
        """The one to drop first: whose client is not there, else the first that came."""
        return next((kept for kept in self._kept.values() if kept.waiting), next(iter(self._kept.values())))

    def _forget(self, owner: bytes, kept: Kept) -> None:
        if self._kept.get(owner) is kept:
            del self._kept[owner]


class Kept:
    """One stream's newest events, and who is being given them."""

    def __init__(
        self,
        bounds: Replay,
        identity: Identity,
        kind: Stamp,
        headers: list[Header],
        loop: asyncio.AbstractEventLoop,
        forget: Callable[[], None],
    ) -> None:
        self.identity = identity
        self.kind = kind
        self.headers = headers
        self.detached = False
        """The first client is no longer there: what the app sends is kept, and sent to nobody but a follower."""
        self.on_taken: Callable[[], None] | None = None
        """Called when another request continues a stream whose client had not been seen to leave."""
        self.on_give_up: Callable[[], None] | None = None
        """Called once when nobody can come back any more."""
        self.complete: Callable[[], bool] = lambda: False
        """Whether the answer, as far as the app has sent it, is known to be complete."""
        self._bounds, self._loop, self._forget = bounds, loop, forget
        self._log = bytearray()
        self._base = 0  # place of the log's first byte in the body
        self._handed = 0  # place up to which the body was handed to a server
        self._ends: deque[int] = deque()  # places behind the events that are wholly in the log
        self._first = 0  # the number of the first of these
        self._over = self._broken = self._dropped = False
        self._attempts = 0
        self._follower: Follower | None = None
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> bool:
        """Whether nobody is being given this stream."""
        return self._over or (self.detached and self._follower is None)

    def write(self, body: bytes, ends: list[tuple[int, int]], *, over: bool) -> None:
        """The app sent this (stamped) piece of its body, in which these events end; `over`: it was the last one."""
        if self._dropped:
            return
        start = self._base + len(self._log)
        self._log += body
        self._ends.extend(start + offset for _, offset in ends)
        if not self.detached:
            self._handed = start + len(body)
        self._trim()
        if over:
            self._over = True
            self._wait_for_client()
        self._news.set()

    def detach(self) -> None:
        """The first client has gone."""
        self.detached = True
        self._wait_for_client()

    async def drained(self) -> None:
        """Wait, as a server would make the app wait, until a follower has taken what there is."""
        while self._follower is not None and self._follower.place < self._base + len(self._log):
            self._room.clear()
            await self._room.wait()

    def ended(self) -> None:
        """The app has returned or raised. Without a final body there is nothing to wait for."""
        if not self._over:
            self.give_up()

    def give_up(self) -> None:
        """Nobody can come back: forget the content, and let the app know that its client has gone."""
        if self._dropped:
            return
        self._dropped, self._broken = True, not self._over
        self._stop_timer()
        self._forget()
        if self._follower is None:
            self._clear()
        self._wake()
        if self.on_give_up is not None:
            self.on_give_up()

    def follow(self, number: int) -> Follower | None:
        """What continues after event `number`: the one to do so, which takes the place of whoever did before."""
        place = self._place_after(number)
        if self._dropped or place is None or self._loop is not asyncio.get_running_loop():
            return None
        before = self._follower or self
        if before.on_taken is not None and not (before is self and (self.detached or self._over)):
            before.on_taken()
        self.detached = True
        self._stop_timer()
        self._attempts += 1
        exchange = tag_of(self.identity.exchange) + secrets.token_hex(4)
        identity = replace(self.identity, exchange=exchange, attempt=self._attempts)
        self._follower = Follower(self, identity, place, number + 1)
        self._wake()
        return self._follower

    def piece(self, follower: Follower) -> bytes | None:
        """What this follower has not been given yet; None: there will be no more (`whole` says whether that is all)."""
        if self._follower is not follower or follower.place < self._base:
            return None
        if follower.place < self._base + len(self._log):
            return bytes(self._log[follower.place - self._base :])
        return None if self._over or self._broken else b""

    def given(self, follower: Follower) -> None:
        """This follower's server has what was there up to its place."""
        self._handed = max(self._handed, follower.place)
        self._room.set()

    def left(self, follower: Follower) -> None:
        """This follower's client has gone, or has had everything."""
        if self._follower is follower:
            self._follower = None
            self._wait_for_client()
        self._wake()

    async def news(self) -> None:
        """Wait until there is something to look at."""
        self._news.clear()
        await self._news.wait()

    def whole(self, follower: Follower) -> bool:
        """Whether this follower has been given all of an answer that ended well."""
        return self._follower is follower and self._over and follower.place == self._base + len(self._log)

    def _place_after(self, number: int) -> int | None:
        at = number - self._first
        if at == -1 and self._first:
            return self._base
        return self._ends[at] if 0 <= at < len(self._ends) else None

    def _trim(self) -> None:
        while self._ends and (len(self._ends) > self._bounds.events or len(self._log) > self._bounds.bytes):
            end = self._ends.popleft()
            del self._log[: end - self._base]
            self._base, self._first = end, self._first + 1
        if len(self._log) > self._bounds.bytes or (self.detached and self._base > self._handed):
            self.give_up()

    def _wait_for_client(self) -> None:
        self._stop_timer()
        if not self._dropped and self.waiting:
            self._timer = self._loop.call_later(self._bounds.seconds, self.give_up)
        elif self._dropped and self._follower is None:
            self._clear()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        self._news.set()
        self._room.set()

    def _clear(self) -> None:
        self._base += len(self._log)
        self._log = bytearray()
        self._ends.clear()


class Follower:
    """The ASGI app that answers a request which continues a stream."""

    def __init__(self, kept: Kept, identity: Identity, place: int, first: int) -> None:
        self.identity = identity
        self.kind = kept.kind
        self.complete = kept.complete
        self.first = first
        """The number of the event that it begins with."""
        self.place = place
        """Up to where in the body it has been given."""
        self.on_taken: Callable[[], None] | None = None
        """Called when another request continues the stream in its place."""
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is kept, then what comes. Breaks off where the answer does, or another request takes over.

        A client that has had everything is told so by status 204, at which an EventSource stops to reconnect.
        """
        if self._kept.whole(self):
            self.leave()
            headers = [header for header in self._kept.headers if header[0].lower() != b"content-type"]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            await send({"type": "http.response.start", "status": 200, "headers": list(self._kept.headers)})
            while (piece := self._kept.piece(self)) is not None:
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    self.place += len(piece)
                    self._kept.given(self)
                else:
                    await self._kept.news()
            if self._kept.whole(self):
                await send({"type": "http.response.body", "body": b""})
        finally:
            self.leave()

    def leave(self) -> None:
        """Its client has gone."""
        self._kept.left(self)


def _owner(stream: str, scope: Scope) -> bytes:
    """Whose stream it is: only a digest of the credentials is kept."""
    digest = hashlib.blake2b(digest_size=16)
    headers = scope["headers"]
    said = (stream.encode(), scope["path"].encode(), scope.get("query_string", b""))
    for text in (*said, *(value_of(headers, name).encode("latin-1") for name in _CREDENTIALS)):
        digest.update(len(text).to_bytes(4, "little") + text)
    return digest.digest()
