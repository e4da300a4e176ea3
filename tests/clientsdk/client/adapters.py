"""The clients that the contract is tested with, all of them real: one row an adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import requests
import urllib3
from google import genai

from streamwitness.client import anthropic_hook, openai_hook
from tests.clientsdk.client.contract import CHAT, GEMINI, MESSAGES, RESPONSES, Adapter, Format, Session

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
        "elapsed": _elapsed(response),
    }


def _elapsed(response: Any) -> Any:
    try:
        return type(response.elapsed)
    except RuntimeError as error:  # not known before the body was read
        return str(error)


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
        return _seen(stream.response) | {"stream": type(stream)}


class AiohttpSession:
    """aiohttp: the application reads what is there."""

    def __init__(self, url: str, timeout: float | None = None) -> None:
        patience = aiohttp.ClientTimeout(sock_read=timeout or 5)
        self.client = aiohttp.ClientSession(url, timeout=patience, trust_env=True)

    async def ask(self) -> Any:
        return await self.client.post(CHAT.path)

    def items(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream.content.iter_any())

    async def stop(self, stream: Any) -> None:
        stream.close()

    async def close(self) -> None:
        await self.client.close()

    def look(self, stream: Any) -> dict[str, Any]:
        seen = ("status", "reason", "version", "ok", "method", "history", "content_type", "charset", "closed")
        return {
            "type": type(stream),
            "headers": list(stream.headers.items()),
            "raw_headers": stream.raw_headers,
            "path": stream.url.path,
            "content": isinstance(stream.content, aiohttp.StreamReader),
            "at_eof": stream.content.at_eof(),
            "total_bytes": stream.content.total_bytes if stream.content.at_eof() else None,
            **{name: getattr(stream, name) for name in seen},
        }


class RequestsSession:
    """requests: the application reads chunks as they come."""

    def __init__(self, url: str, timeout: float | None = None) -> None:
        self.client = requests.Session()
        self._url, self._timeout = url, timeout or 5

    async def ask(self) -> Any:
        return self.client.post(self._url + CHAT.path, stream=True, timeout=self._timeout)

    def items(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream.iter_content(None))

    async def stop(self, stream: Any) -> None:
        stream.close()

    async def close(self) -> None:
        self.client.close()

    def look(self, stream: Any) -> dict[str, Any]:
        seen = ("status_code", "reason", "encoding", "history", "is_redirect", "ok")
        return {
            "type": type(stream),
            "raw": isinstance(stream.raw, urllib3.HTTPResponse),
            "closed": stream.raw.closed,
            "headers": list(stream.headers.items()),
            "raw headers": [list(raw.headers.items()) for raw in (stream.raw, stream.raw._original_response)],
            "elapsed": type(stream.elapsed),
            "cookies": stream.cookies.get_dict(),
            **{name: getattr(stream, name) for name in seen},
        }


class GoogleSession:
    """google-genai: the application reads chunks; the request is made with the first one."""

    def __init__(self, asynchronous: bool, options: dict[str, Any], url: str, timeout: float | None = None) -> None:
        made = {name: make() for name, make in options.items()}
        milliseconds = int(1000 * (timeout or 5))
        self.client = genai.Client(
            api_key="k",
            http_options=genai.types.HttpOptions(
                base_url=url,
                timeout=milliseconds,
                retry_options=genai.types.HttpRetryOptions(attempts=1),
                async_client_args=made or None,
            ),
        )
        self._asynchronous = asynchronous

    async def ask(self) -> Any:
        models = self.client.aio.models if self._asynchronous else self.client.models
        return await now(models.generate_content_stream(model="m", contents="kanarienvogel-7f3a"))

    def items(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream)

    async def stop(self, stream: Any) -> None:
        await now(stream.aclose() if self._asynchronous else stream.close())

    async def close(self) -> None:
        await self.client.aio.aclose()
        self.client.close()

    def look(self, stream: Any) -> dict[str, Any]:
        return {"type": type(stream)}


_QUESTION: Any = [{"role": "user", "content": "kanarienvogel-7f3a"}]


def _chat(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=_QUESTION, stream=True)


def _responses(client: Any) -> Any:
    return client.responses.create(model="m", input=_QUESTION, stream=True)


def _messages(client: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=_QUESTION, stream=True)


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


_GOOGLE: dict[str, dict[str, Any]] = {
    "google-genai": {},
    "google-genai httpx2": {"transport": httpx2.AsyncHTTPTransport},
}
"""Name → what makes its async client use another library than aiohttp: a transport, which knows no proxies."""


def _google(name: str, asynchronous: bool) -> Adapter:
    def opened(url: str, timeout: float | None = None) -> Session:
        return GoogleSession(asynchronous, _GOOGLE[name], url, timeout)

    ends = {"stop": "abandoned"} | ({"reset": "protocol_error"} if asynchronous and name == "google-genai" else {})
    return Adapter(
        f"{name} {_KIND[asynchronous]}", "google-genai", opened, GEMINI, asynchronous, ("wire", "parsed"), ends=ends,
        handles=frozenset(() if _GOOGLE[name] else ("proxy",)), module="google.genai",
    )  # fmt: skip


_KIND = {False: "sync", True: "async"}
_OPENAI = (openai.OpenAI, openai.AsyncOpenAI)
_ANTHROPIC = (anthropic.Anthropic, anthropic.AsyncAnthropic)


def _others(asynchronous: bool) -> Iterator[Adapter]:
    if asynchronous:
        yield Adapter("aiohttp", "aiohttp", AiohttpSession, CHAT, True, ends={"reset": "protocol_error"})
        yield from (_google(name, True) for name in _GOOGLE)
    else:
        yield Adapter("requests", "requests", RequestsSession, CHAT)
        yield _google("google-genai", False)


ADAPTERS: tuple[Adapter, ...] = tuple(
    adapter
    for asynchronous in (False, True)
    for adapter in (
        _http(httpx, asynchronous),
        _http(httpx2, asynchronous),
        *_others(asynchronous),
        _sdk("openai chat", _OPENAI, _chat, asynchronous, CHAT, consumed=1, stamps=openai_hook.STAMPS),
        _sdk("openai responses", _OPENAI, _responses, asynchronous, RESPONSES, stamps=openai_hook.STAMPS),
        _sdk("anthropic", _ANTHROPIC, _messages, asynchronous, MESSAGES, consumed=1, stamps=anthropic_hook.STAMPS),
    )
)
"""Every adapter; its hook passes `test_contract.py`."""
