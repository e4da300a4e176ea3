"""The openai package, witnessed: what the client received, what its parser handed on, what the application used.

STREAMWITNESS_ORIGINS=http://127.0.0.1:8000 python examples/client_openai.py http://127.0.0.1:8000
"""

from __future__ import annotations

import sys

import openai
from openai.types.chat import ChatCompletionChunk

import streamwitness


def ask(base_url: str, model: str = "plain") -> openai.Stream[ChatCompletionChunk]:
    """Ask for one streamed answer."""
    client = streamwitness.instrument(openai.OpenAI(base_url=f"{base_url}/v1", api_key="not needed here"))

    return client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Who called the boat home?"}], stream=True
    )


def read(stream: openai.Stream[ChatCompletionChunk]) -> str:
    """The text of the answer; raises where the stream broke off or said that it failed."""
    text = ""
    with streamwitness.applied(stream) as answer:
        for chunk in stream:
            with answer.event(chunk):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
    return text


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    answered = ask(*sys.argv[1:])
    try:
        print(read(answered))
    finally:  # above all where it raised
        name = streamwitness.stream_id(answered)
        print(f"streamwitness show {name}" if name else "nothing observed this stream")
