"""instrument() of everything: what is patched, when, and that it is put back exactly."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest

import streamwitness
from streamwitness import faults
from streamwitness.client import _LIBRARIES, _SUPPORTED, instrument, uninstrument
from streamwitness.client import instrumented as everything_is
from streamwitness.gateway.upstream import upstream
from streamwitness.testing import MemorySink
from tests.clientsdk.client.contract import CHAT, MESSAGES
from tests.clientsdk.client.raw_server import BODY, RawServer, stream

PATH = CHAT.path
CLIENTS = (Path(__file__).parents[3] / "docs" / "clients.md").read_text()


def classes(cls: type) -> dict[tuple[type, str], Any]:
    """Every attribute of a class and its bases."""
    return {(base, name): value for base in cls.__mro__ for name, value in vars(base).items()}


PATCHED: tuple[type, ...] = (
    httpx.Client,
    httpx.AsyncClient,
    httpx2.Client,
    httpx2.AsyncClient,
    openai.OpenAI,
    openai.AsyncOpenAI,
    openai.AzureOpenAI,
    anthropic.Anthropic,
    anthropic.AsyncAnthropic,
    anthropic.AnthropicBedrock,
    anthropic.AsyncAnthropicVertex,
)


@pytest.fixture
def everything() -> Iterator[None]:
    """Everything is instrumented during the test."""
    instrument()
    yield
    uninstrument()


@pytest.mark.parametrize("cls", PATCHED, ids=lambda cls: f"{cls.__module__.partition('.')[0]}.{cls.__name__}")
def test_classes_get_back_the_very_objects_that_they_had(cls: type) -> None:
    """Something is replaced while everything is instrumented; afterwards every attribute is the same object again."""
    before = classes(cls)
    instrument()
    during = classes(cls)
    uninstrument()
    after = classes(cls)
    assert [key for key in before if during[key] is not before[key]]
    assert after.keys() == before.keys() == during.keys()
    assert [key for key in before if after[key] is not before[key]] == []


def test_what_is_replaced_looks_like_what_it_replaces(everything: None) -> None:
    """Name, documentation and signature are those of the method."""
    assert httpx2.Client.send.__name__ == "send"
    assert openai.OpenAI.request.__qualname__ == "SyncAPIClient.request"
    assert anthropic.Anthropic.request.__module__ == "anthropic._base_client"


def test_it_is_public_and_a_second_call_changes_nothing() -> None:
    """streamwitness.instrument() and .uninstrument(), both as often as one likes."""
    finders = list(sys.meta_path)
    original = httpx.Client.send
    streamwitness.instrument()
    once, patched = list(sys.meta_path), httpx.Client.send
    streamwitness.instrument()
    assert (list(sys.meta_path), httpx.Client.send) == (once, patched)
    assert everything_is()
    streamwitness.uninstrument()
    streamwitness.uninstrument()
    assert (list(sys.meta_path), httpx.Client.send) == (finders, original)
    assert not everything_is()


def test_clients_made_before_and_after_are_observed_once(sink: MemorySink) -> None:
    """Also those of subclasses, and those that were instrumented one by one."""

    class Own(httpx.Client):
        pass

    with RawServer(stream()) as server, httpx.Client() as early:
        instrument()
        try:
            with Own() as late, httpx.Client() as single:
                for client in (early, late, instrument(single)):
                    assert client.post(server.url + PATH).content == BODY
                assert httpx.post(server.url + PATH).content == BODY
        finally:
            uninstrument()
    assert len([block for block in sink.at("wire") if block.final]) == 4


def test_afterwards_only_what_was_instrumented_by_hand_is_observed(sink: MemorySink) -> None:
    """Hooks that everything brought go with it; the owner's own stay, whichever came first."""
    with (
        RawServer(stream()) as server,
        httpx.Client() as adopted,
        httpx.Client() as before,
        httpx.Client() as after,
    ):
        instrument(before)
        instrument()
        for client in (adopted, before, after):
            client.post(server.url + PATH)
        instrument(after)
        uninstrument()
        assert adopted.event_hooks == {"request": [], "response": []}
        sink.blocks.clear()
        for client in (adopted, before, after):
            client.post(server.url + PATH)
    assert len([block for block in sink.at("wire") if block.final]) == 2


def test_patched_over_by_somebody_else(sink: MemorySink) -> None:
    """A wrapper that came later keeps ours within: nothing is torn out, and ours does nothing any more."""
    original = httpx.Client.send
    instrument()
    ours: Any = httpx.Client.send

    def theirs(client: Any, *args: Any, **kwargs: Any) -> Any:
        return ours(client, *args, **kwargs)

    httpx.Client.send = theirs  # type: ignore[method-assign]
    try:
        uninstrument()
        assert httpx.Client.send is theirs
        with RawServer(stream()) as server, httpx.Client() as client:
            assert client.post(server.url + PATH).content == BODY
    finally:
        httpx.Client.send = original  # type: ignore[method-assign]
    assert sink.blocks == []


@pytest.mark.parametrize("first", ["upstream", "everything"])
def test_a_gateways_upstream_client_is_not_observed_as_a_client(first: str, sink: MemorySink) -> None:
    """Outside of an answer it records nothing: the gateway hook decides what is a leg."""
    with RawServer(stream()) as server, httpx.Client() as client:
        if first == "upstream":
            upstream(client)
        instrument()
        try:
            if first == "everything":
                upstream(client)
            assert client.post(server.url + PATH).content == BODY
        finally:
            uninstrument()
    assert sink.blocks == []


@pytest.mark.anyio
async def test_a_client_over_another_librarys_transport_is_observed_once(everything: None, sink: MemorySink) -> None:
    """openai over aiohttp: an httpx2 client whose transport is an aiohttp session."""
    with RawServer(stream([CHAT.body])) as server:
        http = openai.DefaultAioHttpClient()
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url + "/v1", http_client=http) as client:
            async for _ in await client.chat.completions.create(model="m", messages=[], stream=True):
                pass
        async with aiohttp.ClientSession() as session, session.post(server.url + PATH) as response:
            await response.read()
    assert [(block.point, block.extra["stream.client"]) for block in sink.blocks if block.final] == [
        ("wire", "openai"),
        ("parsed", "openai"),
        ("wire", "aiohttp"),
    ]


def test_a_failing_patch_leaves_the_host_alone(monkeypatch: pytest.MonkeyPatch, sink: MemorySink) -> None:
    """A version of a library without what we look for: counted, the others are instrumented."""
    monkeypatch.delattr(openai, "AsyncOpenAI")
    with faults.quiet(), RawServer(stream([MESSAGES.body])) as server:
        instrument()
        try:
            with anthropic.Anthropic(api_key="k", base_url=server.url) as client:
                messages: Any = [{"role": "user", "content": "x"}]
                list(client.messages.create(model="m", max_tokens=9, messages=messages, stream=True))
        finally:
            uninstrument()
    assert sink.closing("parsed").extra["stream.client"] == "anthropic"


@pytest.mark.parametrize("name", [f"{package}.{cls}" for package, cls in _SUPPORTED])
def test_every_client_is_described(name: str) -> None:
    """It has its row in docs/clients.md, and its package is patched where everything is instrumented."""
    rows = [line for line in CLIENTS.splitlines() if line.startswith("| `")]
    assert [row for row in rows if f"`{name}`" in row]
    assert name.rpartition(".")[0] in _LIBRARIES


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_nothing_is_loaded_for_it_and_later_imports_are_patched() -> None:
    """Libraries that the host never imports are not loaded; one that it imports later is patched by then.

    The package looks as if nobody had been there: its own loader, in its spec, and no finder of ours once it is over.
    """
    said = run(
        """
        import sys, importlib.util
        import streamwitness
        streamwitness.instrument()
        names = ("httpx", "httpx2", "aiohttp", "openai", "anthropic", "opentelemetry.sdk")
        print([name for name in names if name in sys.modules])
        print(importlib.util.find_spec("httpx2").name, "httpx2" in sys.modules)
        import httpx2
        from httpx2 import Client
        print(Client.send.__code__.co_filename.endswith("httpx_hook.py"), httpx2.AsyncClient.send.__name__)
        print(type(httpx2.__loader__).__name__, type(httpx2.__spec__.loader).__name__, httpx2.__spec__.origin[-18:])
        import importlib.resources
        print(importlib.resources.files("httpx2").joinpath("__init__.py").is_file())
        del sys.modules["httpx2"], sys.modules["httpx2._client"]
        import httpx2
        print(httpx2.Client is not Client, httpx2.Client.send.__code__.co_filename.endswith("httpx_hook.py"))
        streamwitness.uninstrument()
        print(Client.send.__code__.co_filename.endswith("httpx2/_client.py"))
        print([type(finder).__module__ for finder in sys.meta_path if "streamwitness" in type(finder).__module__])
        """
    )
    assert said.splitlines() == [
        "[]",
        "httpx2 False",
        "True send",
        "SourceFileLoader SourceFileLoader httpx2/__init__.py",
        "True",
        "True True",
        "True",
        "[]",
    ]


def test_a_package_that_cannot_be_imported_fails_as_it_does(tmp_path: Path) -> None:
    """An error within the package is the package's: same exception, and another try may succeed."""
    package = tmp_path / "anthropic"
    package.mkdir()
    (package / "__init__.py").write_text("raise ValueError('broken installation')")
    said = run(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import streamwitness
        streamwitness.instrument()
        for _ in range(2):
            try:
                import anthropic
            except ValueError as error:
                print(error, "anthropic" in sys.modules)
        sys.path.pop(0)
        import anthropic
        print(anthropic.Anthropic.request.__code__.co_filename.endswith("stainless.py"))
        """
    )
    assert said.splitlines() == ["broken installation False", "broken installation False", "True"]
