"""How far a JSON text that comes in pieces has got: is its value complete, and does more follow?

Linear: each piece is looked at once, by a pattern that finds the next character that matters. It checks no grammar;
that is the JSON reader's job once the text is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

_OUTSIDE: Final = re.compile(rb'["\[\]{}]')
_INSIDE: Final = re.compile(rb'["\\]')
_DEPTH: Final = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


@dataclass(frozen=True, slots=True)
class JsonText:
    """The state between two pieces of a text whose value is an object or an array.

    A text that begins with anything else (a number, a string) is never called complete or overfull.
    """

    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    has_begun: bool = False
    is_scalar: bool = False
    is_complete: bool = False
    is_overfull: bool = False

    def after(self, piece: bytes) -> JsonText:
        """The state after one more piece."""
        state = self._begun(piece)
        if state.is_scalar or not state.has_begun:
            return state
        if state.is_complete:
            return replace(state, is_overfull=state.is_overfull or bool(piece.strip()))
        return state._scanned(piece)

    def _begun(self, piece: bytes) -> JsonText:
        text = piece.lstrip()
        if self.has_begun or not text:
            return self
        return replace(self, has_begun=True, is_scalar=text[:1] not in (b"{", b"["))

    def _scanned(self, piece: bytes) -> JsonText:
        depth, in_string, at = self.depth, self.in_string, int(self.escaped and bool(piece))
        escaped = self.escaped and not piece
        while (found := (_INSIDE if in_string else _OUTSIDE).search(piece, at)) is not None:
            char, at = found[0], found.end()
            if char == b"\\":
                escaped = at == len(piece)
                at += 1
            elif char == b'"':
                in_string = not in_string
            else:
                depth += _DEPTH[char]
                if depth <= 0:
                    return replace(self, depth=0, is_complete=True, is_overfull=bool(piece[at:].strip()))
        return replace(self, depth=depth, in_string=in_string, escaped=escaped)
