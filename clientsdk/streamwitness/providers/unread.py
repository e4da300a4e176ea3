"""Output that no profile reads: whether an event of which nothing was understood says something all the same.

Sound, images, what a provider's own tools say, citations: a person is shown it, and no profile has a slot for it. It is
counted as an event and compared as bytes; where a hop does not hand on the bytes, nobody can say that all of it came,
and so nobody does (docs/providers.md). Asked only of events without content: what stands beside content is known by a
profile's own fields (`Profile.beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streamwitness.semconv import OTHER, ROLE, USAGE

from .objects import decode, raw_event

SILENT: Final = OTHER | ROLE | USAGE
"""Parts of an event of which no output was understood."""
_Fields = Mapping[str, Any]


def _openai_chat(event: _Fields) -> bool:
    """Anything but a role in a delta: audio, images, annotations, `reasoning_details`."""
    return any(_says(choice.get("delta"), but=("role",)) for choice in _objects(event.get("choices")))


def _openai_responses(event: _Fields) -> bool:
    """A delta of another type, a partial image, an annotation."""
    return any(event.get(name) for name in ("delta", "partial_image_b64", "annotation"))


_READ_BLOCKS: Final = ("text", "thinking", "redacted_thinking", "tool_use", None)


def _anthropic(event: _Fields) -> bool:
    """A citation, or a block of the server's own tools; a signature is nothing that anybody is shown."""
    if event.get("type") == "content_block_delta":
        return _says(event.get("delta"), but=("type", "signature"))
    block = event.get("content_block")
    return isinstance(block, dict) and block.get("type") not in _READ_BLOCKS


def _gemini(event: _Fields) -> bool:
    """An image or a file, code and what came of it."""
    contents = (candidate.get("content") for candidate in _objects(event.get("candidates")))
    parts = (part for content in contents if isinstance(content, dict) for part in _objects(content.get("parts")))
    return any(_says(part, but=("text", "thought", "thoughtSignature", "functionCall")) for part in parts)


def _ollama(event: _Fields) -> bool:
    """Images."""
    return _says(event.get("message"), but=("role", "content", "thinking", "tool_calls"))


def _bedrock(event: _Fields) -> bool:
    """A citation, an image, a tool's result."""
    return _says(event.get("delta"), but=("text", "toolUse", "reasoningContent"))


_READS: Final[dict[str, Callable[[_Fields], bool]]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
}
"""Profile → whether the fields of an event hold output that it does not read; of others that is not known."""


def says_more(profile: str, data: bytes) -> bool:
    """Whether an event (its data field) of which the profile understood no output holds some; never raises."""
    reads = _READS.get(profile)
    if reads is None:
        return False
    try:
        event = decode(data)
    except ValueError:
        return False
    return isinstance(event, dict) and reads(event)


def object_says_more(profile: str, item: object) -> bool:
    """The same of a decoded event, or of its raw data field; of an object of any other class that is not known."""
    raw = raw_event(item)
    if raw is not None:
        return says_more(profile, raw[1])
    reads = _READS.get(profile)
    return reads is not None and isinstance(item, dict) and reads(item)


def _objects(value: object) -> Iterator[_Fields]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _says(fields: object, *, but: tuple[str, ...]) -> bool:
    """Whether any field but these says something."""
    return isinstance(fields, dict) and any(value for name, value in fields.items() if name not in but)
