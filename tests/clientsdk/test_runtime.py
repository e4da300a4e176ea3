"""The SDK's state in a process: settings by argument and environment, fork, exit, and a host left alone."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import streamwitness
from streamwitness import runtime, settings
from streamwitness.runtime import ClientSettings, Runtime, in_sample
from streamwitness.settings import SettingsError
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.export.receiver import WAIT, Mute, Receiver, closed_port, make_block


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings from this machine or other tests, no runtime left for them."""
    for name in list(os.environ):
        if name.startswith("STREAMWITNESS_"):
            monkeypatch.delenv(name)
    before = runtime.replace(None)
    yield
    runtime.shutdown(WAIT)
    runtime.replace(before)


def run(code: str, **environ: str) -> Any:
    """Run `code` in a process of its own; the last line it prints, as JSON. Its warnings are errors, too."""
    clean = {
        name: value for name, value in os.environ.items()
        if not name.startswith(("STREAMWITNESS_", "OTEL_", "PYTEST_"))
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, env=clean | environ, timeout=4 * WAIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


# --------------------------------------------------------------------------- settings


def test_defaults() -> None:
    """Without any setting the SDK observes and sends to the all-in-one on this machine."""
    assert runtime.current().settings == ClientSettings()
    assert ClientSettings().endpoint == "http://127.0.0.1:4318"


def test_arguments_win_over_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument wins over its variable, the variable over the default."""
    monkeypatch.setenv("STREAMWITNESS_ENDPOINT", "http://from.environment:1")
    monkeypatch.setenv("STREAMWITNESS_LEVEL", "rows")
    monkeypatch.setenv("STREAMWITNESS_ORIGINS", "https://a.example, https://b.example")
    made = streamwitness.configure(endpoint="http://from.argument:1", exclude=["/health"]).settings
    assert (made.endpoint, made.level) == ("http://from.argument:1", "rows")
    assert (made.origins, made.exclude) == (("https://a.example", "https://b.example"), ("/health",))


def test_configure_changes_while_running() -> None:
    """What is not given keeps its value; everyone who asks sees the change."""
    first = streamwitness.configure(endpoint="http://h:1", sample=0.5)
    second = streamwitness.configure(mode="off", level="counters")
    assert second is first is runtime.current()
    assert second.settings == ClientSettings(endpoint="http://h:1", sample=0.5, mode="off", level="counters")
    assert streamwitness.configure(mode="observe").settings.mode == "observe"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"mode": "obseve"}, "did you mean 'observe'"),
        ({"level": "all"}, "counters, rows, digests"),
        ({"sample": 1.5}, "0 to 1"),
        ({"sample": float("nan")}, "0 to 1"),
        ({"endpoint": "localhost:4318"}, "an http:// or https:// URL"),
        ({"endpoint": "http://h:notaport"}, "an http:// or https:// URL"),
        ({"origins": ["gateway.example"]}, "origins"),
    ],
)
def test_wrong_arguments_are_the_callers(given: dict[str, Any], named: str) -> None:
    """A wrong argument is named to the caller, with what is possible, and changes nothing."""
    before = streamwitness.configure(sample=0.25).settings
    with pytest.raises(SettingsError, match=named):
        streamwitness.configure(**given)
    assert runtime.current().settings == before
    assert streamwitness.configure().settings == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("STREAMWITNESS_MODE", "on"), ("STREAMWITNESS_SAMPLE", "lots"), ("STREAMWITNESS_ENDPIONT", "http://h:1")],
)
def test_a_wrong_variable_turns_it_off(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong variable in a host is logged once and turns the SDK off; hooks see no exception."""
    monkeypatch.setenv(name, value)
    with caplog.at_level(logging.ERROR, "streamwitness"):
        assert runtime.current().settings.mode == "off"
        assert runtime.current().settings.mode == "off"
    assert len(caplog.messages) == 1
    assert name in caplog.text
    with pytest.raises(SettingsError, match=name):
        streamwitness.configure()


def test_a_wrong_variable_is_told_when_something_is_instrumented(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At start, where somebody looks, and not with the first stream, when it would be said again; nothing is set up."""
    monkeypatch.setenv("STREAMWITNESS_MODE", "foo")
    with caplog.at_level(logging.ERROR, "streamwitness"), httpx.Client() as client:
        streamwitness.instrument(client)
        assert "STREAMWITNESS_MODE" in caplog.text
        assert runtime.replace(None) is None
        caplog.clear()
        streamwitness.instrument(client)
        assert runtime.current().settings.mode == "off"
    assert len(caplog.messages) == 1


def test_a_wrong_key_is_never_shown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The key appears in no message, and credentials in a URL do not either."""
    monkeypatch.setenv("STREAMWITNESS_KEY", "SECRET")
    monkeypatch.setenv("STREAMWITNESS_MODE", "on")
    runtime.current()
    assert caplog.text
    assert "SECRET" not in caplog.text
    assert runtime._shown("http://me:SECRET@h:4318/x?token=SECRET") == "http://h:4318"


def test_every_setting_is_explained_and_known() -> None:
    """Each setting has a help text and stands in the table of all parts' settings."""
    made = settings.options(ClientSettings)
    assert tuple(option.name for option in made) == settings.NAMES["client"]
    assert all(option.help for option in made)
    assert [option.name for option in made if option.secret] == ["key"]


# --------------------------------------------------------------------------- sampling


def test_sampling_vectors() -> None:
    """The share of a stream is documented to the byte, so that other languages decide alike."""
    import hashlib

    for number in range(50):
        stream = f"{number:032x}"
        share = int.from_bytes(hashlib.blake2s(stream.encode("ascii"), digest_size=4).digest(), "little") / 2**32
        assert in_sample(stream, share + 1e-9)
        assert not in_sample(stream, share - 1e-9)


def test_sampling_is_a_share() -> None:
    """All at 1, none at 0, about half at one half, and who is in a smaller share is in a larger one."""
    streams = [f"{number:032x}" for number in range(2000)]
    assert all(in_sample(stream, 1.0) for stream in streams)
    assert not any(in_sample(stream, 0.0) for stream in streams)
    half = {stream for stream in streams if in_sample(stream, 0.5)}
    tenth = {stream for stream in streams if in_sample(stream, 0.1)}
    assert tenth < half
    assert 850 < len(half) < 1150


def test_runtime_samples_by_its_setting() -> None:
    """The runtime decides with its present setting."""
    made = Runtime(ClientSettings(sample=0.0), MemorySink())
    assert not made.sampled("0" * 32)
    made.settings = ClientSettings(sample=1.0)
    assert made.sampled("0" * 32)


# --------------------------------------------------------------------------- delivery


def test_delivers_and_retargets() -> None:
    """Blocks go to the endpoint that is configured; after a change, to the new one with the new key."""
    with Receiver() as first, Receiver() as second:
        made = streamwitness.configure(endpoint=first.endpoint, key="one")
        made.sink.put(make_block(1))
        assert streamwitness.flush(WAIT)
        streamwitness.configure(endpoint=second.endpoint, key="two")
        made.sink.put(make_block(2))
        assert streamwitness.shutdown(WAIT)
    assert [request.headers["authorization"] for request in first.requests] == ["Bearer one"]
    assert [request.headers["authorization"] for request in second.requests] == ["Bearer two"]
    assert (first.blocks(), second.blocks()) == ([make_block(1)], [make_block(2)])


def test_nothing_to_flush() -> None:
    """Flush and shutdown of an SDK that was never used have nothing to do and start nothing."""
    assert streamwitness.flush(0.0)
    assert streamwitness.shutdown(0.0)


def test_after_shutdown_it_starts_anew() -> None:
    """A configure after a shutdown delivers again."""
    with Receiver() as receiver:
        streamwitness.configure(endpoint=receiver.endpoint)
        assert streamwitness.shutdown(WAIT)
        streamwitness.configure(endpoint=receiver.endpoint).sink.put(make_block())
        assert streamwitness.flush(WAIT)
    assert len(receiver.requests) == 1


def test_recording_puts_everything_in_memory() -> None:
    """The test kit records into memory, with its own settings, and restores what was before."""
    before = streamwitness.configure(level="rows")
    with recording(level="counters") as sink:
        assert runtime.current().settings.level == "counters"
        runtime.current().sink.put(make_block(point="parsed"))
        runtime.current().sink.put(make_block(final=True, end="eof"))
        assert streamwitness.flush(0.0)
    assert runtime.current() is before
    assert [block.point for block in sink.blocks] == ["parsed", "wire"]
    assert sink.at("parsed") == sink.blocks[:1]
    assert sink.closing("wire") is sink.blocks[1]
    with pytest.raises(LookupError, match="0 closing blocks of parsed"):
        sink.closing("parsed")


# --------------------------------------------------------------------------- processes

RECORD = """
import json, os, sys
import streamwitness
from streamwitness import runtime
from streamwitness.witness import Identity, Witness

def recorder(point="wire"):
    made = Witness(Identity.new(), runtime.current().sink).recorder(point)
    made.event(made._block_start + 1, 10, 2)
    return made
"""


def test_import_is_cheap() -> None:
    """Importing and configuring loads neither an HTTP library nor the OpenTelemetry SDK, and starts no thread."""
    loaded = run(
        """
        import json, sys, threading
        import streamwitness
        first = sorted(sys.modules)
        streamwitness.configure(endpoint="http://127.0.0.1:1")
        assert threading.active_count() == 1
        heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "requests", "urllib3", "http.client", "httpx", "google")
        print(json.dumps([name for name in sorted(sys.modules) if name.startswith(heavy)]))
        """
    )
    assert loaded == []


def test_the_end_of_the_process_flushes() -> None:
    """A script that just ends delivers what it recorded: open recorders are closed, as what their end was."""
    with Receiver() as receiver:
        run(RECORD + "held = [recorder('wire'), recorder('egress')]", STREAMWITNESS_ENDPOINT=receiver.endpoint)
    blocks = receiver.blocks()
    ends = {(block.point, block.end, block.end_detail, block.summary) for block in blocks}
    assert ends == {
        (point, end, "the process ended", summary)
        for point, end in (("wire", "abandoned"), ("egress", "shutdown"))
        for summary in (False, True)
    }
    assert {block.totals["events"] for block in blocks} == {1}


def test_an_exception_flushes_as_well() -> None:
    """A script that dies of an exception, or calls sys.exit, delivers too."""
    with Receiver() as receiver:
        run(RECORD + "held = recorder()\nsys.exit(0)", STREAMWITNESS_ENDPOINT=receiver.endpoint)
    assert {block.end for block in receiver.blocks()} == {"abandoned"}


@pytest.mark.parametrize("target", ["closed", "mute"])
def test_a_dead_target_lets_the_process_end(target: str) -> None:
    """With a target that is not there or never answers the process ends, quietly and well."""
    with Mute() as mute:
        run(RECORD + "held = recorder()", STREAMWITNESS_ENDPOINT=closed_port() if target == "closed" else mute)


def test_a_wrong_variable_lets_the_process_run() -> None:
    """With a wrong variable the host runs as if we were not there."""
    mode = run(
        "import json\nfrom streamwitness import runtime\nprint(json.dumps(runtime.current().settings.mode))",
        STREAMWITNESS_LEVEL="everything",
    )
    assert mode == "off"


def test_a_forked_child_has_its_own() -> None:
    """The child delivers what it records itself; recorders and blocks from before the fork stay the parent's."""
    code = RECORD + textwrap.dedent(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
        before = recorder("wire")
        sink = runtime.current().sink
        pid = os.fork()
        if not pid:
            assert runtime.current().sink is not sink
            before.event(before._block_start + 2, 10, 2)
            before.close(before._block_start + 3, "eof")
            sink.put(None)
            assert not sink.flush(0.0) and not sink.shutdown(0.0)
            after = recorder("parsed")
            after.close(after._block_start + 3, "eof")
            os._exit(0 if streamwitness.shutdown(30.0) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        before.close(before._block_start + 3, "cancelled")
        assert streamwitness.flush(30.0)
        """
    )
    with Receiver() as receiver:
        run(code, STREAMWITNESS_ENDPOINT=receiver.endpoint)
    found = {(block.point, block.end, block.totals["events"], block.summary) for block in receiver.blocks()}
    assert found == {
        (point, end, 1, summary)
        for point, end in (("wire", "cancelled"), ("parsed", "eof"))
        for summary in (False, True)
    }


def test_a_fork_in_the_midst_of_traffic() -> None:
    """Forking while other threads record and the exporter sends neither hangs the child nor the parent."""
    code = RECORD + textwrap.dedent(
        """
        import threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        runtime.current().sink._interval = 0.001
        stop = threading.Event()

        def traffic():
            while not stop.wait(0.001):
                made = recorder()
                made.close(made._block_start + 2, "eof")

        threads = [threading.Thread(target=traffic, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            pid = os.fork()
            if not pid:
                made = recorder("parsed")
                made.close(made._block_start + 2, "eof")
                os._exit(0 if streamwitness.flush(30.0) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        stop.set()
        for thread in threads:
            thread.join()
        """
    )
    with Receiver() as receiver:
        run(code, STREAMWITNESS_ENDPOINT=receiver.endpoint)
        assert len({block.recorder for block in receiver.blocks() if block.point == "parsed"}) == 20


def test_a_fork_waits_for_the_import() -> None:
    """A child is never forked while the exporter's modules load: it would find half of them, and locks for ever."""
    loaded = run(
        """
        import json, os, threading, time, warnings
        from streamwitness.export.worker import Worker
        warnings.simplefilter("ignore", DeprecationWarning)
        entered, forking, loaded = threading.Event(), threading.Event(), []

        def make():
            entered.set()
            forking.wait()
            for _ in range(10**6):
                pass
            loaded.append(True)
            raise ImportError

        os.register_at_fork(before=forking.set)
        worker = Worker(make)
        worker._start()
        entered.wait()
        pid = os.fork()
        if not pid:
            os._exit(0 if loaded else 1)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
        """
    )
    assert loaded == 0


def test_the_hosts_opentelemetry_is_undisturbed() -> None:
    """The host's provider, sampler, exporter and HTTP spans are its own; its switches do not silence us."""
    code = RECORD + textwrap.dedent(
        """
        from opentelemetry import context, trace
        from opentelemetry.sdk.trace import TracerProvider, sampling
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        import requests

        kept = InMemorySpanExporter()
        provider = TracerProvider(sampler=sampling.ALWAYS_ON)
        provider.add_span_processor(SimpleSpanProcessor(kept))
        trace.set_tracer_provider(provider)
        real = requests.Session.send

        def instrumented(self, request, **kwargs):  # as opentelemetry-instrumentation-requests does
            if context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY):
                return real(self, request, **kwargs)
            with trace.get_tracer("requests").start_as_current_span("HTTP POST"):
                return real(self, request, **kwargs)

        requests.Session.send = instrumented
        with trace.get_tracer("host").start_as_current_span("work"):
            held = recorder()
            held.close(held._block_start + 2, "eof")
            assert streamwitness.flush(30.0)
        assert trace.get_tracer_provider() is provider
        print(json.dumps([span.name for span in kept.get_finished_spans()]))
        """
    )
    switches = {
        "OTEL_TRACES_SAMPLER": "always_off",
        "OTEL_TRACES_EXPORTER": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": closed_port(),
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=vendor",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "1",
    }
    with Receiver() as receiver:
        assert run(code, STREAMWITNESS_ENDPOINT=receiver.endpoint, **switches) == ["work"]
        assert len(receiver.blocks()) == 2
        assert run(code, STREAMWITNESS_ENDPOINT=receiver.endpoint, OTEL_SDK_DISABLED="true", **switches) == []
        assert len(receiver.blocks()) == 4


# --------------------------------------------------------------------------- the public names


def test_all_is_sorted() -> None:
    """`__all__` is sorted and names nothing twice."""
    assert streamwitness.__all__ == sorted(set(streamwitness.__all__))


@pytest.mark.parametrize("name", streamwitness.__all__)
def test_public_names_resolve(name: str) -> None:
    """Every public name loads on first use and stays the same object."""
    first = getattr(streamwitness, name)
    assert getattr(streamwitness, name) is first
    assert name in dir(streamwitness)


def test_unknown_names_are_errors() -> None:
    """A name that is not public is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'instrumnet'"):
        streamwitness.instrumnet  # noqa: B018
