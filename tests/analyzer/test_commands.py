"""`streams` and `show` as commands: where they read, what they say when that is not possible, how they are dressed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from streamwitness.cli import main
from streamwitness_analyzer.config import shown
from streamwitness_analyzer.history import NO_LIMIT
from streamwitness_analyzer.readers import ServerReader, Unknown, Unreachable
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store
from tests.analyzer.kit import START, PlainJudge, block, stream_id
from tests.analyzer.test_report import DAMAGED, ID, document


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A database file with two streams."""
    name = str(tmp_path / "some.db")
    store = Store(name)
    store.create()
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: START)
    for n in (1, 2):
        got = block(n, "wire", rows=n, final=True)
        steps.ingest([Received(block(n, "egress", rows=2, final=True), START), Received(got, START)])
    store.close()
    return name


class _Answers(BaseHTTPRequestHandler):
    """A server that knows one stream and asks for a key on another path."""

    def do_GET(self) -> None:
        if self.headers.get("authorization") == "Bearer wrong":
            self._answer(401, {"error": "a query key is needed", "hint": "send it"})
        elif self.path == f"/api/v1/streams/{ID[:4]}":
            self._answer(200, document())
        elif self.path.startswith("/api/v1/streams/"):
            self._answer(404, {"error": "no stream begins with 'f'", "hint": "look again"})
        else:
            self._answer(200, {"streams": [], "next": None, "asked": self.path})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Not in the test's output."""


@pytest.fixture
def server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()


def test_show_from_a_server(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Any unique beginning, as the report."""
    assert main(["show", ID[:4], "--server", server]) == 0
    assert capsys.readouterr().out == DAMAGED + "\n"


def test_show_as_json(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The document itself."""
    assert main(["show", ID[:4], "--server", server, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document()


def test_show_its_history(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every revision, in words or as JSON."""
    assert main(["show", stream_id(1), "--database", file, "--history"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"Stream {stream_id(1)}: 1 revision of its verdict",
        " 1  2023-11-14 22:13:20 UTC  1 LOST   final, judge 1",
    ]
    assert main(["show", stream_id(1), "--database", file, "--history", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["revisions"]) == 1


def test_cuts_of_a_database(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence, or JSON."""
    assert main(["cuts", "--database", file, "--since", "2023-11-14"]) == 0
    said = f"0 of 2 streams since 2023-11-14 were cut; {NO_LIMIT}\n"
    assert capsys.readouterr().out == said
    assert main(["cuts", "--database", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streams"] == 0


def test_cuts_asks_a_server(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the time it was given; one that cannot be understood is the reader's error."""
    assert main(["cuts", "--server", server, "--since", "2h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"] == "/api/v1/cuts?since=2h"


def test_cuts_since_nonsense(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1, with what to give instead."""
    assert main(["cuts", "--database", file, "--since", "soon"]) == 1
    assert "since is 'soon'; give an age" in capsys.readouterr().err


def test_streams_passes_its_filters_on(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option is the parameter of the same name."""
    words = ["streams", "--server", server, "--json", "--ending", "completed", "--client", "a b", "--limit", "7"]
    assert main(words) == 0
    asked = json.loads(capsys.readouterr().out)["asked"]
    assert asked == "/api/v1/streams?ending=completed&client=a+b&limit=7"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "f"], "no stream begins with 'f'\n  look again"),
        (["show", "f", "--query-key", "wrong"], "a query key is needed"),
    ],
)
def test_what_the_server_refuses_is_said(
    server: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its hint, exit status 1."""
    assert main([*words, "--server", server]) == 1
    assert said in capsys.readouterr().err


def test_no_server_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Start it, name another, or read a database."""
    assert main(["streams", "--server", "http://127.0.0.1:1"]) == 1
    said = capsys.readouterr().err
    for hint in ("nothing answers at http://127.0.0.1:1", "streamwitness up", "--server", "--database"):
        assert hint in said


def test_the_server_must_be_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    """A host and port alone are refused with what is possible."""
    assert main(["streams", "--server", "localhost:4318"]) == 2
    assert "http://host:port" in capsys.readouterr().err


def test_show_from_a_file(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any server."""
    assert main(["show", stream_id(1), "--database", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["short"] == "1 lost"


def test_streams_from_a_file(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same filters as over the API."""
    assert main(["streams", "--database", file, "--integrity", "damaged"]) == 0
    _, row, explain = capsys.readouterr().out.splitlines()
    assert row.endswith("2→1        completed  damaged    1 lost  proven")
    assert explain.endswith(f"--database {file}")


def test_the_database_of_the_environment_is_read(
    file: str, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As by `prune` and `rejudge`, and said; a server that is named comes before it, and so does an option."""
    monkeypatch.setenv("STREAMWITNESS_DATABASE", file)
    assert main(["show", stream_id(1), "--json"]) == 0
    assert f"(read from {file}, as STREAMWITNESS_DATABASE says)" in capsys.readouterr().err
    assert main(["show", ID[:4], "--server", server]) == 0
    assert main(["show", ID[:4], "--database", "nowhere.db"]) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("postgresql://me:secret@host/x", "postgresql://me@host/x"),
        ("postgresql://me@host/x", "postgresql://me@host/x"),
        ("some.db", "some.db"),
        ("a:b@c.db", "a:b@c.db"),
    ],
)
def test_no_password_is_printed(name: str, told: str) -> None:
    """Commands that are shown may be copied into a ticket."""
    assert shown(name) == told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["show", "000", "--database", "FILE"],
            f"with '000'\n  {stream_id(1)}\n  {stream_id(2)}\n  give more digits",
        ),
        (["show", "f", "--database", "FILE"], "no stream begins with 'f'"),
        (["streams", "--database", "FILE", "--ending", "complete"], "did you mean 'completed'?"),
        (["streams", "--database", "nowhere.db"], "there is no database file 'nowhere.db'"),
        (["streams", "--database", "oracle://x"], "no database is called 'oracle'"),
        (["streams", "--database", "JUNK"], "the database cannot be read"),
    ],
)
def test_what_a_database_cannot_answer_is_said(
    file: str, tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear message, exit status 1, never a traceback, and no file is made."""
    junk = tmp_path / "junk.db"
    junk.write_text("this is no database, but long enough to look at " * 100)
    given = [{"FILE": file, "JUNK": str(junk)}.get(word, word) for word in words]
    assert main(given) == 1
    assert said in capsys.readouterr().err
    assert not Path("nowhere.db").exists()


BARE = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sqlalchemy", "starlette", "uvicorn", "kafka", "psycopg", "prometheus_client"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from streamwitness_analyzer.commands import SHOW, STREAMS
from streamwitness.settings import load
import argparse
command = {"show": SHOW, "streams": STREAMS}[sys.argv[1]]
parser = argparse.ArgumentParser()
command.add_arguments(parser)
args = parser.parse_args(sys.argv[3:])
args.settings = load(command.settings, environ={}, overrides={"server": sys.argv[2]})
sys.exit(command.run(args))
"""


def bare(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where only the base package is installed."""
    return subprocess.run([sys.executable, "-c", BARE, *words], capture_output=True, text=True, check=False, timeout=60)


def test_the_base_package_reads_from_a_server(server: str) -> None:
    """No database library, no HTTP library."""
    done = bare("show", server, ID[:4])
    assert (done.returncode, done.stdout, done.stderr) == (0, DAMAGED + "\n", "")
    assert bare("streams", server).returncode == 0


def test_the_base_package_says_what_a_database_needs(server: str, file: str) -> None:
    """The extra to install, and the other way."""
    done = bare("show", server, "0", "--database", file)
    assert done.returncode == 1
    assert "pip install '.[analyzer]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("failure", [Unreachable, Unknown])
def test_the_database_here_is_read_where_the_default_server_does_not_help(
    failure: type[Exception], file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No server was named, and none runs or it knows no such stream: the file that `up` would use here answers."""

    def helpless(*_: Any) -> dict[str, Any]:
        raise failure("the server does not help")

    monkeypatch.setattr(ServerReader, "_get", helpless)
    monkeypatch.chdir(Path(file).parent)
    assert main(["show", stream_id(1)[:8]]) == 1
    Path(file).rename("streamwitness.db")
    assert main(["show", stream_id(1), "--json"]) == 0
    assert f"read from {Path('streamwitness.db').resolve()}" in capsys.readouterr().err
    assert main(["show", stream_id(1), "--server", "http://127.0.0.1:9"]) == 1
    assert main(["show", "f" * 32]) == 1
    said = "the server does not help" if failure is Unknown else "no stream begins with"
    assert said in capsys.readouterr().err


def test_prune_deletes_what_is_old(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted first, then done; a second time there is nothing."""
    words = ["prune", "--database", file, "--older-than", "30d"]
    assert main([*words, "--dry-run"]) == 0
    assert main(words) == 0
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 streams and their 4 records would be deleted",
        "2 streams and their 4 records deleted",
        "0 streams and their 0 records deleted",
    ]


@pytest.mark.parametrize(("command", "option"), [("prune", "--older-than"), ("rejudge", "--since")])
def test_a_time_that_cannot_be_understood_changes_nothing(
    file: str, command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, with the option and what to give instead."""
    assert main([command, "--database", file, option, "soon"]) == 1
    assert f"{option} is 'soon'; give an age (30s, 15m, 2h, 7d)" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "option"), [("prune", "--older-than"), ("rejudge", "--since")])
def test_a_misspelt_database_is_not_made(
    tmp_path: Path, command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """To change what is not there would say that all is done."""
    missing = tmp_path / "none.db"
    assert main([command, "--database", str(missing), option, "1d"]) == 1
    said = capsys.readouterr().err
    assert f"streamwitness {command}: there is no database file" in said
    assert said.endswith("; name the one that `up` or the analyzer was started with: --database FILE\n")
    assert not missing.exists()


@pytest.mark.parametrize("printed", ["", " ", "None"])
def test_what_is_printed_of_no_stream_is_no_id(printed: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A script asks with what its client told it: nothing."""
    assert main(["show", printed, "--server", server]) == 1
    assert capsys.readouterr().err == (
        f"streamwitness show: {printed!r} is no stream id: nothing was observed of this stream\n"
    )
