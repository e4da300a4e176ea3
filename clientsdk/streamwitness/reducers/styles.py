"""How a delta becomes part of the answer: one small class a style of payload, for one slot each.

| style | a delta | the value |
|---|---|---|
| `Text` | text to append | the text |
| `Snapshot` | the whole text so far | the last one |
| `Arguments` | a piece of a JSON text | the JSON value, once the text is complete |
| `Patch` | a JSON Patch (RFC 6902) | the document |
| `Usage` | token counts | the last counts where they are running totals, else their sums |

`add` takes a delta as a whole or raises Refused and changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Protocol

from .jsontext import JsonText


class Refused(ValueError):
    """A delta that cannot be applied; the message says why. Nothing was changed."""


class Style(Protocol):
    """One slot of the answer."""

    def add(self, delta: bytes) -> None:
        """Apply a delta (UTF-8), or raise Refused and change nothing."""

    @property
    def value(self) -> Any:
        """What there is so far."""


class Text:
    """Deltas are appended; joined when the text is asked for."""

    def __init__(self) -> None:
        self._fragments: list[bytes] = []

    def add(self, delta: bytes) -> None:
        """Append."""
        self._fragments.append(delta)

    @property
    def value(self) -> str:
        """The text so far; a character whose bytes are cut between two deltas is whole."""
        whole = b"".join(self._fragments)
        self._fragments = [whole]
        try:
            return whole.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return whole.decode("utf-8", "replace")


class Snapshot:
    """Each delta is the whole text so far, and replaces the one before."""

    def __init__(self) -> None:
        self._text = b""
        self.rewrites = 0
        """How often a snapshot did not go on from the one before it."""

    def add(self, delta: bytes) -> None:
        """Replace."""
        self.rewrites += not delta.startswith(self._text)
        self._text = delta

    @property
    def value(self) -> str:
        """The last snapshot."""
        return self._text.decode("utf-8", "replace")


class Arguments:
    """A JSON text that comes in pieces, as a tool call's arguments do; valid only at the end.

    A piece that would go on behind the end of the value is refused: two calls were taken for one.
    """

    def __init__(self) -> None:
        self._text = Text()
        self._progress = JsonText()

    def add(self, delta: bytes) -> None:
        """Append, unless the value is complete already, or would be before the end of the piece."""
        after = self._progress.after(delta)
        if after.is_overfull:
            raise Refused("the arguments are complete, and more comes: two calls in one slot")
        self._progress = after
        self._text.add(delta)

    @property
    def text(self) -> str:
        """The JSON text so far."""
        return self._text.value

    @property
    def is_complete(self) -> bool:
        """Whether the text is a whole JSON value."""
        try:
            json.loads(self.text)
        except (ValueError, RecursionError):
            return False
        return True

    @property
    def value(self) -> Any:
        """The JSON value. Raises ValueError while the text is not complete."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the arguments are no whole JSON value yet ({len(self.text)} characters)") from error


class Patch:
    """A document that is changed by JSON Patches (RFC 6902), each as a whole or not at all.

    Needs the package jsonpatch (`pip install "streamwitness[patch]"`): the RFC's reference in Python for years.
    """

    def __init__(self, document: Any = None) -> None:
        try:
            import jsonpatch
        except ImportError as error:
            raise ImportError('JSON Patch needs jsonpatch: pip install "streamwitness[patch]"') from error
        self._library = jsonpatch
        self._document = {} if document is None else document

    def add(self, delta: bytes | Sequence[dict[str, Any]]) -> None:
        """Apply one patch: a list of operations, or its JSON text. A test operation that fails refuses all of it."""
        library = self._library
        try:
            operations = json.loads(delta) if isinstance(delta, (bytes, str)) else delta
            self._document = library.apply_patch(self._document, operations)
        except (library.JsonPatchException, library.JsonPointerException, *_BAD_PATCH) as error:
            raise Refused(f"the patch does not fit the document: {error}") from error

    @property
    def value(self) -> Any:
        """The document."""
        return self._document


_BAD_PATCH: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What jsonpatch lets through of a patch that is no patch at all, or of a document of another shape."""


class Usage:
    """Token counts: running totals, of which the last one stands, or counts of each event, which add up.

    Which of the two is the provider's word, never a guess: Anthropic's `message_delta` counts are running totals, and
    adding them up is a bug that was reported of several clients.
    """

    def __init__(self, *, cumulative: bool = True) -> None:
        self._cumulative = cumulative
        self.input: int | None = None
        self.output: int | None = None

    def add(self, input: int | None, output: int | None) -> None:
        """Take the counts of one event; None where it has none."""
        self.input = self._next(self.input, input)
        self.output = self._next(self.output, output)

    @property
    def value(self) -> tuple[int | None, int | None]:
        """Input and output tokens."""
        return self.input, self.output

    def _next(self, before: int | None, count: int | None) -> int | None:
        if count is None or before is None or self._cumulative:
            return before if count is None else count
        return before + count
