"""The OpenTelemetry entry point, with the real `opentelemetry-instrument` and the real BaseInstrumentor beside it."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from streamwitness.client import instrument, uninstrument
from streamwitness.client.instrumentor import StreamWitnessInstrumentor
from streamwitness.testing import MemorySink
from tests.clientsdk.client.contract import CHAT
from tests.clientsdk.client.raw_server import BODY, RawServer, stream

APP = """
    import json, sys
    import openai
    from streamwitness.testing import recording

    with recording() as sink, openai.OpenAI(api_key="k", base_url=sys.argv[1] + "/v1", max_retries=0) as client:
        list(client.chat.completions.create(model="m", messages=[], stream=True))
        print(json.dumps([[block.point, block.totals["events"]] for block in sink.blocks if block.final]))
"""


def test_the_entry_point_is_found() -> None:
    """Under the group that the command reads. (Missing: install the environment again.)"""
    (found,) = entry_points(group="opentelemetry_instrumentor", name="streamwitness")
    assert found.load() is StreamWitnessInstrumentor


def test_it_has_what_every_instrumentor_has() -> None:
    """Each public member of BaseInstrumentor, callable in the same way."""
    for name, member in inspect.getmembers(BaseInstrumentor):
        if name.startswith("_"):
            continue
        ours = inspect.getattr_static(StreamWitnessInstrumentor, name)
        assert isinstance(ours, property) == isinstance(inspect.getattr_static(BaseInstrumentor, name), property)
        if callable(member):
            assert list(inspect.signature(ours).parameters)[:1] == ["self"]
            inspect.signature(ours).bind(
                None, **({"skip_dep_check": True} if name != "instrumentation_dependencies" else {})
            )


def test_there_is_one_and_it_can_be_called_often(sink: MemorySink) -> None:
    """As with the others: one instance, and each call says whether everything is instrumented afterwards."""
    instrumentor = StreamWitnessInstrumentor()
    assert StreamWitnessInstrumentor() is instrumentor
    assert list(instrumentor.instrumentation_dependencies()) == []
    with RawServer(stream()) as server:
        for wanted, call in (
            (True, lambda: instrumentor.instrument(skip_dep_check=True)),
            (True, instrument),
            (False, instrumentor.uninstrument),
            (False, uninstrument),
        ):
            call()
            assert instrumentor.is_instrumented_by_opentelemetry is wanted
            sink.blocks.clear()
            assert httpx.post(server.url + CHAT.path).content == BODY
            assert len(sink.blocks) == wanted


@pytest.mark.parametrize("disabled", [False, True])
def test_opentelemetry_instrument_finds_it(disabled: bool, tmp_path: Path) -> None:
    """`opentelemetry-instrument python app.py`: the application's openai client is observed, unless it is disabled."""
    app = tmp_path / "app.py"
    app.write_text(textwrap.dedent(APP))
    command = Path(sys.executable).with_name("opentelemetry-instrument")
    environment = os.environ | {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    environment |= {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "streamwitness"} if disabled else {}
    with RawServer(stream([CHAT.body])) as server:
        done = subprocess.run(
            [command, sys.executable, app, server.url], env=environment, capture_output=True, text=True, check=False
        )
    said: Any = json.loads(done.stdout) if done.returncode == 0 else done.stderr
    assert said == ([] if disabled else [["wire", 7], ["parsed", 6]])
    assert "streamwitness" not in done.stderr
