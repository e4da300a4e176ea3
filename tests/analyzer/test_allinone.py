"""`streamwitness up` as a process: in over OTLP, out over the API and the commands, and a clean end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamwitness.blocks import Block
from tests.analyzer.kit import block, otlp, stream_id

DEADLINE = 60
CLI = (sys.executable, "-m", "streamwitness")


@contextmanager
def up(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A running all-in-one on a free port: its address and process."""
    process = subprocess.Popen(
        [*CLI, "up", "--port", "0", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out = ""
        while "ID` explains one" not in out:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                pytest.fail(f"up ended: {out}{process.stderr.read() if process.stderr else ''}")
            out += line
        found = re.search(r"STREAMWITNESS_ENDPOINT=(\S+?)\)", out)
        if found is None:
            pytest.fail(out)
        yield found[1], process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=DEADLINE)


def post(base: str, blocks: Sequence[Block]) -> int:
    headers = {"content-type": "application/x-protobuf"}
    request = urllib.request.Request(f"{base}/v1/traces", data=otlp(blocks), headers=headers)
    with urllib.request.urlopen(request, timeout=DEADLINE) as response:
        return int(response.status)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=DEADLINE)


def damaged(n: int) -> list[Block]:
    return [block(n, "egress", final=True), block(n, "wire", rows=2, final=True)]


def test_what_is_answered_200_is_committed(tmp_path: Path) -> None:
    """Killed without warning right after the answer: the database has the verdict."""
    with up(tmp_path) as (base, process):
        assert post(base, damaged(1)) == 200
        process.kill()
        process.wait(DEADLINE)
        shown = run(tmp_path, "show", stream_id(1), "--database", "streamwitness.db", "--json")
    document = json.loads(shown.stdout)
    assert (document["stream"], document["state"], document["integrity"]) == (stream_id(1), "settled", "damaged")


def test_it_answers_questions_by_every_road(tmp_path: Path) -> None:
    """`show` and `streams` over the server and on the file say the same; metrics of both halves are on one page."""
    with up(tmp_path) as (base, _):
        post(base, damaged(1))
        for words in (("show", "0"), ("streams", "--integrity", "damaged")):
            served = run(tmp_path, *words, "--server", base, "--json")
            stored = run(tmp_path, *words, "--database", "streamwitness.db", "--json")
            assert (served.returncode, served.stdout) == (0, stored.stdout)
        text = run(tmp_path, "show", "0", "--server", base).stdout
        assert "proven, final" in text.splitlines()[0]
        with urllib.request.urlopen(f"{base}/metrics", timeout=DEADLINE) as response:
            metrics = response.read().decode()
        assert 'stream_findings_total{kind="gap",component="transport",confidence="certain"} 1' in metrics
        assert 'streamwitness_collector_requests_total{outcome="ok"} 1.0' in metrics


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    """SIGTERM and Ctrl-C: exit status 0, no traceback, and what was accepted is there."""
    with up(tmp_path) as (base, process):
        post(base, damaged(1))
        os.kill(process.pid, how)
        out, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out.strip(), errors) == (0, "streamwitness has ended.", "")
    assert stream_id(1) in run(tmp_path, "streams", "--database", "streamwitness.db", "--json").stdout


def test_an_occupied_port_is_said(tmp_path: Path) -> None:
    """It names the option, does not hop to another port, and ends with 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path, "up", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr == (
        f"streamwitness up: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose another with --port (STREAMWITNESS_PORT) or --host (STREAMWITNESS_HOST)\n"
    )


def test_a_database_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    """One line, exit status 1."""
    done = run(tmp_path, "up", "--port", "0", "--database", "no/such/folder/x.db")
    assert done.returncode == 1
    assert "no/such/folder/x.db cannot be used: unable to open database file" in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_input_harms_nobody(tmp_path: Path) -> None:
    """A body that is no OTLP gets a 4xx; the next good one is stored."""
    with up(tmp_path) as (base, _):
        headers = {"content-type": "application/x-protobuf"}
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{base}/v1/traces", b"\xff\xff", headers), timeout=DEADLINE)
        with refused.value as error:
            assert error.code == 400
        assert post(base, damaged(1)) == 200


def test_it_works_on_postgresql(tmp_path: Path, postgres_database: str) -> None:
    """The same process, another database."""
    with up(tmp_path, "--database", postgres_database) as (base, _):
        post(base, damaged(1))
        shown = run(tmp_path, "show", "0", "--database", postgres_database, "--json")
    assert json.loads(shown.stdout)["state"] == "settled"
