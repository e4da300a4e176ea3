"""Which framing a response announces, by its content type and, where that says too little, the request's path."""

from __future__ import annotations

from typing import Final

STREAM_TYPES: Final = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonl": "ndjson",
    "application/jsonlines": "ndjson",
    "application/x-jsonlines": "ndjson",
    "application/stream+json": "ndjson",
    "application/vnd.amazon.eventstream": "eventstream",
}
"""Media type → framing (semconv.FRAMINGS), for the types that nothing but streams of events have."""

STREAM_PATHS: Final = (
    (":streamGenerateContent", "application/json", "json_array"),
    (":serverStreamingPredict", "application/json", "json_array"),
    ("/generate", "", "ndjson"),
)
"""End of the path, media type, framing: streams in a type that other answers have too (Gemini without `alt=sse`,
Vertex AI's prediction), or in none (vLLM's demonstration server names no type for its lines)."""


def framing_of(path: str, content_type: str) -> str | None:
    """How a body of this type, in answer to this path, is cut into events (semconv.FRAMINGS); None: it is no stream."""
    media = media_type(content_type)
    if (known := STREAM_TYPES.get(media)) is not None:
        return known
    path = path.partition("?")[0]
    return next((framing for end, of, framing in STREAM_PATHS if of == media and path.endswith(end)), None)


def media_type(content_type: str) -> str:
    """A content type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()
