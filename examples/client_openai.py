"""The openai package, witnessed: what the client received, what its parser handed on, what the application used.

STREAMWITNESS_ORIGINS=http://127.0.0.1:8000 python examples/client_openai.py http://127.0.0.1:8000
"""

from __future__ import annotations

import sys

import openai

import streamwitness


def ask(base_url: str, model: str = "plain") -> tuple[str, str | None]:
    """Read one streamed answer; returns its text, and the stream's id for `streamwitness show`."""
    client = streamwitness.instrument(openai.OpenAI(base_url=f"{base_url}/v1", api_key="not needed here"))

    stream = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Who called the boat home?"}], stream=True
    )
    text = ""
    with streamwitness.applied(stream) as answer:
        for chunk in stream:
            with answer.event(chunk):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
    return text, streamwitness.stream_id(stream)


if __name__ == "__main__":
    said, stream = ask(*sys.argv[1:])
    print(said)
    print(f"streamwitness show {stream}" if stream else "nothing observed this stream")
