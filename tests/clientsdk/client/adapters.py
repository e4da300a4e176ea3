"""The clients that the contract is tested with, all of them real: one row an adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

import anthropic
import httpx
import httpx2
import openai

from streamwitness.client import anthropic_hook, openai_hook
from tests.clientsdk.client.contract import CHAT, MESSAGES, RESPONSES, Adapter, Format, Session

Ask = Callable[[Any], Any]


async def now(value: Any) -> Any:
    """The value, awaited where it must be."""
    return await value if hasattr(value, "__await__") else value


async def each(items: Any) -> AsyncIterator[Any]:
    """A sync or an async iterable as an async iterator."""
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def _seen(response: Any) -> dict[str, Any]:
    return {
        "type": type(response),
        "status": response.status_code,
        "headers": response.headers.multi_items(),
        "http_version": response.http_version,
        "reason": response.reason_phrase,
        "url": response.url.path,
        "encoding": response.encoding,
    }


class HttpxSession:
    """httpx or httpx2: the application reads pieces of the body."""

    def __init__(self, library: ModuleType, asynchronous: bool, url: str, timeout: float | None = None) -> None:
        kind = library.AsyncClient if asynchronous else library.Client
        self.client: Any = kind(base_url=url, timeout=timeout or 5)

    async def ask(self) -> Any:
        return await now(self.client.send(self.client.build_request("POST", CHAT.path), stream=True))

    def items(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream.aiter_bytes() if hasattr(self.client, "aclose") else stream.iter_bytes())

    async def stop(self, stream: Any) -> None:
        await now(stream.aclose() if hasattr(self.client, "aclose") else stream.close())

    async def close(self) -> None:
        await now(self.client.aclose() if hasattr(self.client, "aclose") else self.client.close())

    def look(self, stream: Any) -> dict[str, Any]:
        return _seen(stream)


class SdkSession:
    """An SDK's client: the application reads objects."""

    def __init__(self, kind: Any, ask: Ask, path: str, url: str, timeout: float | None = None) -> None:
        self.client: Any = kind(api_key="k", base_url=url + path, max_retries=0, timeout=timeout or 5)
        self._ask = ask

    async def ask(self) -> Any:
        return await now(self._ask(self.client))

    def items(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream)

    async def stop(self, stream: Any) -> None:
        await now(stream.close())

    async def close(self) -> None:
        await now(self.client.close())

    def look(self, stream: Any) -> dict[str, Any]:
        elapsed = getattr(stream.response, "_elapsed", None) or getattr(stream.response.stream, "elapsed", None)
        return _seen(stream.response) | {"stream": type(stream), "elapsed": type(elapsed)}


_QUESTION: Any = [{"role": "user", "content": "kanarienvogel-7f3a"}]


def _chat(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=_QUESTION, stream=True)


def _responses(client: Any) -> Any:
    return client.responses.create(model="m", input=_QUESTION, stream=True)


def _messages(client: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=_QUESTION, stream=True)


def _beta(client: Any) -> Any:
    return client.beta.messages.create(model="m", max_tokens=9, messages=_QUESTION, stream=True)


def _http(library: ModuleType, asynchronous: bool) -> Adapter:
    def opened(url: str, timeout: float | None = None) -> Session:
        return HttpxSession(library, asynchronous, url, timeout)

    name = library.__name__
    return Adapter(f"{name} {_KIND[asynchronous]}", name, opened, CHAT, asynchronous)


def _sdk(name: str, kinds: tuple[Any, Any], ask: Ask, asynchronous: bool, form: Format, **known: Any) -> Adapter:
    client, path = name.partition(" ")[0], "/v1" if kinds is _OPENAI else ""

    def opened(url: str, timeout: float | None = None) -> Session:
        return SdkSession(kinds[asynchronous], ask, path, url, timeout)

    return Adapter(f"{name} {_KIND[asynchronous]}", client, opened, form, asynchronous, ("wire", "parsed"), **known)


_KIND = {False: "sync", True: "async"}
_OPENAI = (openai.OpenAI, openai.AsyncOpenAI)
_ANTHROPIC = (anthropic.Anthropic, anthropic.AsyncAnthropic)

ADAPTERS: tuple[Adapter, ...] = tuple(
    adapter
    for asynchronous in (False, True)
    for adapter in (
        _http(httpx, asynchronous),
        _http(httpx2, asynchronous),
        _sdk("openai chat", _OPENAI, _chat, asynchronous, CHAT, consumed=1, stamps=openai_hook.STAMPS),
        _sdk("openai responses", _OPENAI, _responses, asynchronous, RESPONSES, stamps=openai_hook.STAMPS),
        _sdk("anthropic", _ANTHROPIC, _messages, asynchronous, MESSAGES, consumed=1, stamps=anthropic_hook.STAMPS),
        _sdk("anthropic beta", _ANTHROPIC, _beta, asynchronous, MESSAGES, consumed=1, stamps=anthropic_hook.STAMPS),
    )
)
"""Every adapter; its hook passes `test_contract.py`."""
