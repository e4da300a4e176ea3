"""Provider profiles: what an event says, and when a response is complete. One file each, one table of all."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from streamwitness.events import Reading

from .objects import Unreadable

if TYPE_CHECKING:
    from .numbers import Numbers

__all__ = ["PROFILES", "Profile", "Unreadable", "detect", "profile"]


class Profile(Protocol):
    """Turns the events of one response at one point into parts, pieces and completion.

    One instance a response and point: it remembers which slots and finishes it has seen. Not thread-safe. The same
    event gives the same Reading wherever it is read, so that two points can be compared.
    """

    @property
    def name(self) -> str:
        """Its key in PROFILES."""

    @property
    def provider(self) -> str:
        """Value of `gen_ai.provider.name`."""

    @property
    def delivers(self) -> int:
        """Parts mask of the events that a reader of this format can hand on."""

    @property
    def complete(self) -> bool | None:
        """Whether what was read so far is a whole answer; None where the format has no rule that we know."""

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Canonical finish reasons (semconv.FINISH_REASONS), one for each choice that has one."""

    @property
    def model(self) -> str | None:
        """The model that the provider says it used."""

    @property
    def response_id(self) -> str | None:
        """The provider's own id of the response."""

    @property
    def usage(self) -> tuple[int | None, int | None]:
        """Input and output tokens, as last reported."""

    @property
    def numbered(self) -> bool:
        """Whether the format numbers its events, so that `sequence` is worth asking."""

    @property
    def numbers(self) -> Numbers | None:
        """The provider's own numbers, where it has any."""

    @property
    def sequence(self) -> int | None:
        """The provider's own number of the event read last; None where it had none."""

    @property
    def snapshot_mismatches(self) -> int:
        """The provider's own fault: whole texts that are not what the deltas before them add up to; 0: none were."""

    @property
    def beside(self) -> int:
        """Events that hold output of a kind that is not read beside what is; 0: none did."""

    @property
    def grammar_breaks(self) -> int:
        """The provider's own fault: events that its grammar does not allow where they stand; 0 where it has none."""

    @property
    def shared_numbers(self) -> int:
        """Calls that began under a number of another's; 0 where calls have none, or each its own."""

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What the stream says against itself, and so the provider's own fault: `kind count first last` each."""

    def placed(self, at: Callable[[], int]) -> None:
        """Who counts the events, to be asked for the position of the one that is read (-1: nobody does)."""

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event: its name and raw data field. Never raises; what cannot be decoded is MALFORMED."""

    def read_object(self, obj: object) -> Reading:
        """Read an event that a client has decoded already; gives what `read` gives for the same event.

        Takes what JSON decodes to, the format's SDK objects, the raw data field as text, and objects with `data` and
        `event` (a server-sent event of most SSE libraries). Raises Unreadable for anything else: the caller must
        then mark its point unknown, since to record nothing would read as a loss.
        """

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """Whether a response is of this format, by request path, content type and first data field (may be empty)."""


class Known(NamedTuple):
    """Where a profile lives, and what to see in a response before it is worth loading and asking (`matches`)."""

    home: str
    """Module here and class."""
    paths: tuple[str, ...] = ()
    """Ends of the request's path."""
    marks: tuple[bytes, ...] = ()
    """What the data of a first event holds."""

    def may_match(self, path: str, first: bytes) -> bool:
        """Whether `matches` may be true: it never is where none of these is seen."""
        return path.endswith(self.paths) or any(mark in first for mark in self.marks)


KNOWN: Final[dict[str, Known]] = {
    "envelope": Known("envelope:Envelope", (), (b'"seq"',)),
    "openai_chat": Known(
        "openai_chat:OpenAIChat", ("/chat/completions", "/v1/completions"), (b'"chat.completion.chunk"', b'"choices"')
    ),
    "openai_responses": Known(
        "openai_responses:OpenAIResponses", ("/v1/responses", "/openai/responses"), (b'"response.',)
    ),
    "anthropic": Known("anthropic:Anthropic", ("/v1/messages", ":streamRawPredict"), (b'"message_start"',)),
    "gemini": Known("gemini:Gemini", (":streamGenerateContent",), (b'"candidates"', b'"promptFeedback"')),
    "bedrock": Known(
        "bedrock:Bedrock",
        ("/converse-stream", "/invoke-with-response-stream"),
        (b'"messageStart"', b'"contentBlock'),
    ),
    "ollama": Known("ollama:Ollama", ("/api/chat", "/api/generate"), (b'"done"',)),
    "tgi_raw": Known("tgi_raw:TgiRaw", ("/generate_stream",), (b'"generated_text"',)),
    "vllm_raw": Known("vllm_raw:VllmRaw", ("/generate",)),
    "dashscope": Known(
        "dashscope:DashScope",
        ("/text-generation/generation", "/multimodal-generation/generation"),
        (b'"request_id"',),
    ),
    "dashscope_delta": Known("dashscope:DashScopeDelta"),
    "generic": Known("generic:Generic", ("",)),
}
"""Every profile by name, in the order in which they are asked; the last matches anything. Each is loaded when used.

A profile without paths and marks is taken by name only.
"""


class _Profiles(Mapping[str, type[Profile]]):
    """Name → class, loaded when it is looked up."""

    def __getitem__(self, name: str) -> type[Profile]:
        module, _, made = KNOWN[name].home.partition(":")
        found: type[Profile] = getattr(importlib.import_module(f".{module}", __name__), made)
        return found

    def __contains__(self, name: object) -> bool:
        return name in KNOWN

    def __iter__(self) -> Iterator[str]:
        return iter(KNOWN)

    def __len__(self) -> int:
        return len(KNOWN)


PROFILES: Final[Mapping[str, type[Profile]]] = _Profiles()
"""All profiles by name; the first that matches is taken, and the last matches anything."""


def detect(path: str, content_type: str, first: bytes = b"") -> Profile:
    """A fresh profile for a response to `path`; `first` is the data field of its first event, where it is known.

    Where nothing is telling, the answer is `generic`: a format that is not known is better than a wrong one.
    """
    path = path.partition("?")[0].rstrip("/")
    for name, known in KNOWN.items():
        if known.may_match(path, first) and PROFILES[name].matches(path, content_type, first):
            return PROFILES[name]()
    raise LookupError("the last profile matches anything")


def profile(name: str) -> Profile:
    """A fresh profile by name. Raises ValueError that lists the known ones."""
    if name not in KNOWN:
        raise ValueError(f"unknown provider profile {name!r}, known: {', '.join(KNOWN)}")
    return PROFILES[name]()
