"""The numbers of one answer's events, and the memory of them for a client that comes back: what is added to a body.

begin()      the head is known: whether events are numbered, and kept
passing()    a piece of the body on its way out, numbered, and kept
left()       the client has gone: a kept answer goes on into the memory (`is_held`)
ended()      the app has returned
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamwitness import faults
from streamwitness.framing import framing_of
from streamwitness.selection import chosen
from streamwitness.semconv import FIRST_NUMBER, LINKED, STAMPED, Stamp

from .asgi import Header, Message, Scope, fixed, value_of
from .stamp import Rewriter, rewriter

if TYPE_CHECKING:
    from .asked import Asked
    from .receiving import SharedReceive
    from .replay import Kept, Shelf


class Numbering:
    """How one answer is numbered and kept.

    `on_continued` is called when another request continues the answer whose client had not been seen to leave;
    `complete` tells whether the answer is, as far as the app has sent it.
    """

    __slots__ = (
        "_complete", "_kept", "_on_continued", "_receive", "_request", "_scope", "_shelf", "is_continued", "kind",
        "rewriter",
    )  # fmt: skip

    def __init__(
        self,
        request: Asked,
        scope: Scope,
        receive: SharedReceive,
        shelf: Shelf | None,
        *,
        on_continued: Callable[[], None],
        complete: Callable[[], bool],
    ) -> None:
        self.kind: Stamp = "none"
        """How the events are numbered."""
        self.rewriter: Rewriter | None = None
        """What numbers them here; None where nothing does, also for the rest of a kept answer."""
        self.is_continued = False
        """Another request continues this answer: what reads it here gets no more."""
        self._request, self._scope, self._receive, self._shelf = request, scope, receive, shelf
        self._on_continued, self._complete = on_continued, complete
        self._kept: Kept | None = None
        if request.follower is not None:
            request.follower.on_taken = self._taken

    @property
    def is_kept(self) -> bool:
        """Whether a client that comes back can still be served."""
        return self._kept is not None

    @property
    def is_held(self) -> bool:
        """Whether what the app sends goes into the memory only."""
        return self._kept is not None and self._kept.detached

    def begin(self, headers: list[Header]) -> None:
        """The answer's head is known, and that it is a stream: decide, and set up what numbers and keeps it."""
        request, scope = self._request, self._scope
        if request.follower is not None:
            self.kind = request.follower.kind
            return
        exchange = request.exchange
        settings = exchange.runtime.settings
        allowed = settings.mode == "stamp" and chosen(scope["path"], settings.stamp_paths, ()) and not fixed(headers)
        kind = exchange.asked if allowed else "none"
        framing = framing_of(scope["path"], value_of(headers, b"content-type")) or ""
        self.rewriter = rewriter(exchange.identity.exchange, kind, framing)
        if self.rewriter is None:
            return
        self.kind = kind
        if self._shelf is not None and not self._receive.gone:
            self._keep(self._shelf.keep(exchange.identity, kind, headers, scope))

    def abandon(self) -> None:
        """The head could not be made: what it does not speak of is not put into the body."""
        self.rewriter = None
        if self._kept is not None:
            self._kept.give_up()

    def passing(self, numbers: Rewriter, message: Message, *, last: bool) -> Message:
        """The app's message with the stamps in its piece of the body; as many messages go out as came in."""
        body = numbers.feed(message.get("body", b""), last=last)
        if self._kept is not None:
            self._remember(self._kept, numbers, body, last)
        return {**message, "body": body}

    async def drained(self) -> None:
        """Wait, as a server would make the app wait, until whoever continues the answer has taken what there is."""
        if self._kept is not None:
            await self._kept.drained()

    def left(self) -> None:
        """The client has gone before the answer was over; it may come back."""
        if self._kept is not None:
            self._kept.detach()
        if self._request.follower is not None:
            self._request.follower.leave()

    def ended(self) -> None:
        """The app has returned or raised."""
        if self._kept is not None:
            self._kept.ended()

    def attributes(self) -> dict[str, Any]:
        """What the closing block says of the stream's identity beside its ids."""
        follower, numbers = self._request.follower, self.rewriter
        stamped = self.kind if follower is not None or (numbers is not None and numbers.intact) else "none"
        known = (
            (STAMPED, stamped if stamped != "none" else None),
            (FIRST_NUMBER, follower.first if follower is not None else None),
            (LINKED, self._request.linked or None),
        )
        return {name: value for name, value in known if value is not None}

    def _keep(self, kept: Kept | None) -> None:
        if kept is not None:
            self._kept = kept
            kept.on_taken, kept.on_give_up, kept.complete = self._taken, self._given_up, self._complete
            self._receive.hold()

    def _remember(self, kept: Kept, numbers: Rewriter, body: bytes, last: bool) -> None:
        """Keep this piece for a client that comes back; where that fails, nobody can."""
        try:
            kept.write(body, numbers.ends, over=last)
            if not numbers.intact:
                kept.give_up()
        except Exception as error:
            self._given_up()
            faults.fault("gateway.replay", error)

    def _taken(self) -> None:
        self.is_continued = True
        self._on_continued()

    def _given_up(self) -> None:
        """Nobody can come back any more: the app is on its own with its server again."""
        self._kept = None
        self._receive.release(gone=self.is_continued)
