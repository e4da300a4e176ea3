"""The hook for the `openai` package (3.x): which of its streams are observed at `parsed`, and what its parser consumes.

Its HTTP client is the one given as `http_client=`, else one of its own; there is no public attribute for it, so
`_client` is read (`OpenAI.copy` hands the same one on). The rest is in `stainless.py`.

What its parser does by design: `[DONE]` ends the iteration and is never yielded; an event with an `error` member is
raised as `openai.APIError`, recorded here as an event with result `raised`. The Responses API ends with an event of
its own, which is yielded like all others, its `error` events included.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Final

from streamwitness.semconv import ALL_PARTS, TERMINAL, Stamp

from . import stainless
from .everywhere import Patches
from .hook import StreamParser
from .parsed import is_error_event

DELIVERS: Final = ALL_PARTS & ~TERMINAL
"""What its parser hands on of a chat completion: everything but the terminator; an error comes as an exception."""

STAMPS: Final[tuple[Stamp, ...]] = ("field", "id")
"""Numbers that its parser survives, the better one first.

Members that it does not know are kept on the object, where its helpers leave them alone. After an `id` line it raises
at the next block without data: the gateway sends none (docs/design.md §2), but a proxy behind it may add a comment.
"""


_CHAT: Final = StreamParser("openai", "openai_chat", DELIVERS, STAMPS, raises=is_error_event)
_RESPONSES: Final = StreamParser("openai", "openai_responses", ALL_PARTS, STAMPS, raises=is_error_event)

PATHS: Final[tuple[tuple[re.Pattern[str], StreamParser], ...]] = (
    (re.compile(r"/completions$"), _CHAT),  # chat and legacy
    (re.compile(r"/responses(/[^/]+)?$"), _RESPONSES),  # made anew, or retrieved
)
"""Path of the request → how the answer is parsed; the first that matches. Other streams have no point `parsed`."""


choose: Final = stainless.by_path(PATHS)
"""Who parses the stream that answers a path."""


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch the package's clients; their HTTP clients are httpx2's."""
    for client in (module.OpenAI, module.AsyncOpenAI):
        stainless.everywhere(client, choose, patches)
