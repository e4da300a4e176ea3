"""The hook for the `anthropic` package (2.x): which of its streams are observed at `parsed`, and what is consumed.

Its HTTP client is httpx2's, as with openai; the way in is that of `stainless.py`. Clients for Bedrock, Vertex, Foundry
and AWS share it: they rewrite the path later than we look at it, so the table knows one path for all of them.

What its parser does by design: `ping` is never yielded, nor is an event without a name; an `error` event is raised as
`anthropic.APIStatusError` (or a subclass for its type), recorded here as an event with result `raised`. Its
`middleware=` is not used: it is given to a constructor or makes a copy, while `instrument` takes a client that exists.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Final

from streamwitness.semconv import ALL_PARTS, PING, Stamp

from . import stainless
from .everywhere import Patches
from .hook import StreamParser

DELIVERS: Final = ALL_PARTS & ~PING
"""What its parser hands on: everything but pings; an error comes as an exception."""

STAMPS: Final[tuple[Stamp, ...]] = ("id", "field")
"""Numbers that its parser survives, the better one first.

An `id` line leaves the objects as they are; the empty events that it makes out of later blocks without data have no
name, and are skipped. Members that it does not know are kept on the object.
"""


def _raised(error: BaseException) -> bool:
    """Whether it is the provider's error event: those have a status, and the stream had begun."""
    return any(base.__name__ == "APIStatusError" for base in type(error).__mro__)


_MESSAGES: Final = StreamParser("anthropic", "anthropic", DELIVERS, STAMPS, raises=_raised)

PATHS: Final[tuple[tuple[re.Pattern[str], StreamParser], ...]] = ((re.compile(r"/v1/messages$"), _MESSAGES),)
"""Path of the request → how the answer is parsed; the first that matches. Other streams have no point `parsed`."""


choose: Final = stainless.by_path(PATHS)
"""Who parses the stream that answers a path."""


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch the package's clients; their HTTP clients are httpx2's."""
    for client in (module.Anthropic, module.AsyncAnthropic):
        stainless.everywhere(client, choose, patches)
