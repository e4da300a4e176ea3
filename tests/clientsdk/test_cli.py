"""The command line: what is installed is listed, what is wrong is one line on stderr, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from streamwitness import cli
from streamwitness.cli import main
from streamwitness.commands import Command
from streamwitness.semconv import VERSION
from streamwitness.settings import SettingsError, setting


@dataclass(frozen=True)
class PourSettings:
    """Settings of the command `pour`."""

    kafka: tuple[str, ...] = setting((), "where to, 100 % of it")
    port: int = setting(4318, "port to listen on")
    also_trace: bool = setting(False, "trace as well")


seen: list[Namespace] = []


def _pour(args: Namespace) -> int:
    seen.append(args)
    return 3


def _fail(args: Namespace) -> int:
    raise SettingsError("--port (STREAMWITNESS_PORT) is 1; possible: 2")


def _interrupt(args: Namespace) -> int:
    raise KeyboardInterrupt


POUR = Command("pour", "pour the tea", _pour, lambda parser: parser.add_argument("--json", action="store_true"),
               settings=PourSettings)  # fmt: skip
FAIL = Command("fail", "always fails", _fail)
INTERRUPT = Command("interrupt", "is interrupted", _interrupt)
BARE = Command("bare", "needs a kettle", _pour, needs=("kettle_that_is_not_there",), extra="kettle")


class _Point:
    """An entry point whose object is at hand."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self._value = value

    def load(self) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the installed commands by those of this file."""
    gone = ModuleNotFoundError("No module named 'spoon'", name="spoon")
    points = [
        _Point("pour", POUR),
        _Point("fail", FAIL),
        _Point("interrupt", INTERRUPT),
        _Point("bare", BARE),
        _Point("gone", gone),
        _Point("odd", ValueError("a defect")),
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: points if group == "streamwitness.commands" else [])
    seen.clear()


def test_help_lists_what_is_installed_and_how_to_install_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands by name with their help; those whose extra is missing with the pip command."""
    assert main(["--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "bare needs a kettle [needs kettle_that_is_not_there" in listed
    assert "pip install '.[kettle]'" in listed
    assert "gone [needs spoon, which the extra 'all' brings: pip install '.[all]' in a checkout]" in listed
    assert "odd [cannot be loaded: ValueError: a defect]" in listed
    assert "pour pour the tea" in listed


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version names program and version."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"streamwitness {VERSION}\n"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing asked: help on stderr, exit 2."""
    assert main([]) == 2
    assert "commands" in capsys.readouterr().err


def test_a_command_gets_its_settings_and_its_status_is_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options win over variables; what the command returns is the exit status."""
    monkeypatch.setenv("STREAMWITNESS_PORT", "1")
    monkeypatch.setenv("STREAMWITNESS_KAFKA", "a:1,b:2")
    assert main(["pour", "--port", "2", "--json", "--also-trace"]) == 3
    assert seen[0].settings == PourSettings(kafka=("a:1", "b:2"), port=2, also_trace=True)
    assert seen[0].json is True


def test_the_help_of_a_command_names_option_default_and_variable(capsys: pytest.CaptureFixture[str]) -> None:
    """One table gives all three."""
    assert main(["pour", "--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "--port N port to listen on (default 4318; STREAMWITNESS_PORT)" in listed
    assert "--kafka TEXT where to, 100 % of it (STREAMWITNESS_KAFKA)" in listed
    assert "--also-trace, --no-also-trace" in listed


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["puor"], "unknown command 'puor'; did you mean 'pour'?"),
        (["zzzzz"], "unknown command 'zzzzz'; known: bare, fail, gone"),
        (["pour", "--kafak", "x"], "unknown option --kafak; did you mean --kafka?"),
        (["pour", "--jsn"], "unknown option --jsn; did you mean --json?"),
        (["pour", "--prot=1"], "unknown option --prot; did you mean --port?"),
        (["pour", "--zzzz"], "unknown option --zzzz; --help lists all"),
        (["pour", "tea"], "unexpected argument 'tea'"),
        (["pour", "--port", "x"], "--port (STREAMWITNESS_PORT) is 'x'; possible: a whole number"),
        (["fail"], "streamwitness fail: --port (STREAMWITNESS_PORT) is 1; possible: 2"),
        (["bare"], "streamwitness bare: needs kettle_that_is_not_there, which the extra"),
        (["gone"], "streamwitness gone: needs spoon, which the extra 'all' brings: pip install '.[all]'"),
        (["odd"], "streamwitness odd: cannot be loaded: ValueError: a defect"),
    ],
)
def test_what_is_asked_wrongly_exits_2_with_a_line_that_helps(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each fault names itself and, where there is one, the nearest right word."""
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert seen == []


def test_a_misspelled_variable_exits_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown configuration is named, with the nearest known one."""
    monkeypatch.setenv("STREAMWITNESS_KAFAK", "x")
    assert main(["pour"]) == 2
    assert "STREAMWITNESS_KAFAK; did you mean STREAMWITNESS_KAFKA?" in capsys.readouterr().err


def test_an_interrupt_ends_quietly() -> None:
    """Ctrl-C is 130, without a traceback."""
    assert main(["interrupt"]) == 130


def test_python_m_streamwitness_is_the_same_command() -> None:
    """The module can be run, with the commands that are really installed."""
    done = subprocess.run(
        [sys.executable, "-m", "streamwitness", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "collector" in done.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    """`streamwitness … | head` ends without a traceback."""
    code = (
        "import sys, streamwitness.cli as cli\n"
        "from streamwitness.commands import Command\n"
        "def run(args):\n"
        "    while True: print('x' * 1000, flush=True)\n"
        "entry = cli.Entry('x', Command('x', 'x', run))\n"
        "cli.discover = lambda: [entry]\n"
        "sys.exit(cli.main(['x']))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_discovery_reads_the_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real EntryPoint is loaded by its value; the list is sorted by name."""
    point = EntryPoint("tea", f"{__name__}:POUR", "streamwitness.commands")
    monkeypatch.setattr(EntryPoint, "load", lambda self: POUR)
    monkeypatch.setattr(cli, "entry_points", lambda group: [point, _Point("bare", BARE)])
    assert [entry.name for entry in cli.discover()] == ["bare", "tea"]
