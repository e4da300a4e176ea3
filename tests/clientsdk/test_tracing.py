"""tracing.py: the host's span learns the stream's id and end, and nothing else of the host's is touched."""

from __future__ import annotations

import subprocess
import sys
import types

from opentelemetry.sdk.trace import TracerProvider

from streamwitness import semconv as sc
from streamwitness.testing import MemorySink
from streamwitness.tracing import host_span
from streamwitness.witness import Identity, Witness

TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("host")


def observe(host):
    witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink := MemorySink(), host=host)
    observer = witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream")
    observer.feed(b"data: [DONE]\n\n")
    return observer, sink


def test_the_hosts_span_is_parent_and_told():
    """Blocks carry the span's context; the span carries the stream's id and end."""
    with TRACER.start_as_current_span("request") as span:
        observer, sink = observe(host_span())
        observer.close("eof")
    assert dict(span.attributes) == {sc.ID: "a" * 32, sc.END: "eof"}
    assert sink.blocks[0].context == (span.context.trace_id, span.context.span_id)


def test_a_span_that_has_ended_is_left_alone():
    """A stream that outlives the host's span changes nothing on it, and nothing is logged."""
    with TRACER.start_as_current_span("request") as span:
        observer, _ = observe(host_span())
    observer.close("eof")
    assert dict(span.attributes) == {sc.ID: "a" * 32}


def test_without_a_span_there_is_none():
    """Outside of any span blocks stand in a trace of their own."""
    assert host_span() is None
    observer, sink = observe(host_span())
    observer.close("eof")
    assert sink.blocks[0].context is None


def test_a_module_that_is_still_being_imported_has_no_span(monkeypatch):
    """Another thread may be importing OpenTelemetry at this moment (our own exporter does): that is no fault."""
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", types.ModuleType("opentelemetry.trace"))
    assert host_span() is None


def test_opentelemetry_is_not_loaded_for_it():
    """A host without OpenTelemetry does not get it from us."""
    code = "import sys; from streamwitness.tracing import host_span; host_span(); print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
