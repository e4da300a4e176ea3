"""The documentation is held to the code: whatever a user can set, read or be told stands in it, and nothing else."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamwitness import semconv as sc
from streamwitness.cli import build_parser, discover
from streamwitness.runtime import ClientSettings
from streamwitness.settings import NAMES, options, variable
from streamwitness_analyzer.judge.ending import endings
from streamwitness_analyzer.judge.telling import words
from streamwitness_analyzer.vocabulary import ENDINGS, KINDS
from tests.docs import examples, markdown
from tests.docs.markdown import ROOT
from tests.docs.setups import FAULTS, LOST, SETUPS, knowledge, verdict
from tests.docs.tables import GENERATORS, parser_of

README = (ROOT / "README.md").read_text()
DESIGN = (ROOT / "docs" / "design.md").read_text()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
WIRE = (ROOT / "docs" / "wire.md").read_text()
FILES = [str(path.relative_to(ROOT)) for path in markdown.files()]
RENEW = "renew it: python -m tests.docs.tables"


def words_of(text: str) -> set[str]:
    """Everything that stands in backticks."""
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in [span, *span.split(", ")]}


def attributes_named(text: str) -> set[str]:
    """Attributes named in backticks; in a list, `.bytes` after `stream.total.events` is `stream.total.bytes`."""
    found: set[str] = set()
    stem = ""
    for name in re.findall(r"`([\w.]+)`", text):
        full = stem + name if name.startswith(".") else name
        stem = full.rpartition(".")[0]
        found.add(full)
    return found


# --------------------------------------------------------------------------- what is generated is current


@pytest.mark.parametrize("name", FILES)
def test_generated_parts_are_current(name: str) -> None:
    """Tables that come from the code are what the code says now."""
    for part, text in markdown.generated((ROOT / name).read_text()).items():
        if part != "show":
            assert text == GENERATORS[part](), f"{name}, {part} is old; {RENEW}"


def test_the_report_in_readme_is_what_show_prints() -> None:
    """Headline, picture and the four lines of evidence; the sentences may be worded anew without breaking this."""
    shown, now = (text.splitlines() for text in (markdown.generated(README)["show"], GENERATORS["show"]()))
    start = now.index("Why")
    assert shown[:2] == now[:2], RENEW
    assert shown[3:start] == now[3:start], RENEW
    assert _evidence(shown) == _evidence(now), RENEW


def _evidence(report: list[str]) -> list[str]:
    """Which lines of evidence there are."""
    return [line.split()[0] for line in report if re.match(r" (seen|but|cleared|unknown) ", line)]


@pytest.mark.parametrize("kind", words.VERBS)
def test_every_finding_has_an_example(kind: str) -> None:
    """What can be concluded is shown once, and the example shows it."""
    assert kind in {finding["kind"] for finding in examples.verdict(kind)["findings"]}


def test_every_generator_is_used() -> None:
    """A table that nobody shows would be kept in vain."""
    used = {part for name in FILES for part in markdown.generated((ROOT / name).read_text())}
    assert used == set(GENERATORS)


# --------------------------------------------------------------------------- everything is there


def test_every_attribute_is_in_wire() -> None:
    """Each attribute of the vocabulary stands in docs/wire.md, and no `stream.` attribute that does not exist."""
    texts = {value for name, value in vars(sc).items() if name.isupper() and isinstance(value, str)}
    known = {text for text in texts if re.fullmatch(r"[a-z_]+(\.\w+)+", text)}
    known |= {sc.TOTAL_PREFIX + name for name in sc.TOTALS}
    named = attributes_named(WIRE)
    assert known - named == set()
    assert {name for name in named if re.match(r"stream\.\w", name)} - known == set()


@pytest.mark.parametrize(
    "vocabulary", [sc.PARTS, sc.RESULTS, sc.POINTS, (*sc.CLIENT_ENDS, *sc.EGRESS_ENDS), ("stream-witness", "sw-role")]
)
def test_every_word_of_the_wire_is_in_wire(vocabulary: tuple[str, ...]) -> None:
    """Parts, results, points, ends, headers."""
    named = {word.split()[-1] for word in words_of(WIRE)}
    assert set(vocabulary) - named == set()


@pytest.mark.parametrize("name", [*(p for names in NAMES.values() for p in names)])
def test_every_setting_is_described(name: str) -> None:
    """By its variable, in the reference (those of the tests in the tests' README)."""
    text = (ROOT / "tests" / "README.md").read_text() if name in NAMES["tests"] else REFERENCE
    assert variable(name) in text


def test_readme_has_the_settings_of_the_sdk() -> None:
    """What a newcomer sets first."""
    for option in options(ClientSettings):
        assert f"`{option.variable}`" in README


@pytest.mark.parametrize("name", [entry.name for entry in discover()])
def test_every_command_and_option_is_described(name: str) -> None:
    """Each command has its heading in the reference, and each of its options stands below it."""
    _, _, below = REFERENCE.partition(f"### `streamwitness {name}`")
    section = below.partition("\n#")[0]
    flags = {flag for action in parser_of(name)._actions for flag in action.option_strings} - {"-h", "--help"}
    assert section
    assert {flag for flag in flags if f"`{flag}`" not in section} == set()


def test_every_ending_kind_and_note_is_described() -> None:
    """All words of a verdict, built or reserved, are in the design."""
    named = words_of(DESIGN)
    every = {*ENDINGS, *ENDINGS.values(), *KINDS, *words.VERBS, *words.NOTES}
    assert every - named == set()


def test_reserved_words_are_not_concluded() -> None:
    """Every class of ending comes out of the table, and no kind is said that is not in the list."""
    reached = {row.ending for *_, row in endings.table()} - {None}
    assert set(ENDINGS) == reached
    assert set(words.VERBS) <= set(KINDS)


def test_every_part_has_a_readme() -> None:
    """Each folder that something may be added to says what may live there."""
    parts = ["clientsdk", "collector", "analyzer", "examples", "deploy", "bench", "tests", "tests/vectors/sse"]
    folders = [*parts, "clientsdk/streamwitness/testing", "analyzer/streamwitness_analyzer/alerts", *LISTED]
    assert [folder for folder in folders if not (ROOT / folder / "README.md").is_file()] == []


LISTED = (
    *(
        f"clientsdk/streamwitness/{n}"
        for n in ("client", "demo", "export", "framing", "gateway", "providers", "reducers")
    ),
    *(f"analyzer/streamwitness_analyzer/{n}" for n in ("judge", "store")),
    "fuzz",
)
"""Folders whose README has a table of files."""


@pytest.mark.parametrize("folder", LISTED)
def test_every_file_stands_in_the_readme_of_its_folder(folder: str) -> None:
    """So that whoever looks for something finds where it is, and nobody looks for what is gone."""
    rows = [line for line in (ROOT / folder / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+\.py)`", row.split("|")[1])}
    rooms = [path.parent for path in (ROOT / folder).glob("*/__init__.py") if not (path.parent / "README.md").exists()]
    files = {path.name for place in (ROOT / folder, *rooms) for path in place.glob("*.py")}
    assert files - {"__init__.py", "__main__.py"} <= named <= files


# --------------------------------------------------------------------------- what is said can be followed


@pytest.mark.parametrize("name", FILES)
def test_links_resolve(name: str) -> None:
    """Each relative link leads to a file or folder, each anchor to a heading."""
    path = ROOT / name
    for link in markdown.links(path.read_text()):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), link
        if anchor:
            assert anchor in markdown.anchors(there.read_text()), link


def test_promises_are_tried() -> None:
    """The tests that docs/design.md §5 names for each promise of a recorder are there."""
    section = (ROOT / "docs/design.md").read_text().partition("## 5.")[2].partition("## 6.")[0]
    named = re.findall(r"`((?:tests/|\w+/)?test_\w+\.py)`", section)
    homes = (ROOT, ROOT / "tests/clientsdk")
    assert len(named) > 9
    assert [name for name in named if not any((home / name).is_file() for home in homes)] == []


def commands_in(name: str) -> Iterator[list[str]]:
    """The command lines of the `sh` blocks of a file, without variables set before them."""
    for block in markdown.code((ROOT / name).read_text(), "sh"):
        for line in block.splitlines():
            found = [word for word in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", word)]
            if found and found[0] != "export":
                yield found


COMMANDS = [(name, " ".join(line)) for name in FILES for line in commands_in(name)]


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_command_lines_parse(name: str, line: str) -> None:
    """Every command line is one that the real parsers understand, about files and targets that exist."""
    program, *arguments = line.split()
    match Path(program).name:
        case "streamwitness":
            args, rest = build_parser().parse_known_args(arguments)
            assert (rest, args.entry.problem) == ([], "")
        case "make":
            targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {word for word in arguments if "=" not in word} <= set(targets)
        case "python" if arguments[0] == "-m":
            assert importable(arguments[1])
        case "python":
            assert (ROOT / arguments[0]).is_file()
        case "pip":
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            named = re.findall(r"\[(\S+?)\]", line)
            assert {extra for group in named for extra in group.split(",")} <= set(extras)
        case "docker":
            assert arguments[0] == "compose"
        case ".":
            assert arguments == [".venv/bin/activate"]
        case _:
            pytest.fail(f"{name} shows a program that this test does not know: {line}")


def importable(module: str) -> bool:
    """Whether `python -m MODULE` finds it."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("name", FILES)
def test_variables_exist(name: str) -> None:
    """Every STREAMWITNESS_ variable that is named is one."""
    known = {variable(setting) for names in NAMES.values() for setting in names}
    named = set(re.findall(r"STREAMWITNESS_[A-Z_]*[A-Z]", (ROOT / name).read_text()))
    assert named - known == set()


# --------------------------------------------------------------------------- what partial installations know


def test_readme_names_who_is_proven_by_what() -> None:
    """The claims that README rests on, beside the generated table: who can be accused with what installed."""
    accused = {
        setup: {
            suspect
            for fault in FAULTS
            for finding in verdict(setup, fault)["findings"]
            if finding["confidence"] == "certain"
            for suspect in finding["suspects"]
        }
        for setup in SETUPS
    }
    assert accused == {
        "client, bytes only": set(),
        "client with its parser": {"parser"},
        "client with `applied`": {"parser", "reducer"},
        "gateway out": set(),
        "gateway in and out": {"gateway"},
        "gateway out, client": {"transport", "parser", "reducer"},
        "both sides": {"gateway", "transport", "parser", "reducer"},
    }


def test_no_setup_accuses_an_innocent() -> None:
    """Whatever is not installed or lost: who broke it is among the suspects of every finding."""
    guilty = {
        "gateway loses an event": "gateway",
        "gateway hides an early stop": "gateway",
        "proxy behind the gateway loses an event": "transport",
        "connection breaks": "transport",
        "parser loses an event": "parser",
        "application's code raises": "reducer",
    }
    for setup in [*SETUPS, LOST]:
        for fault in FAULTS:
            for finding in verdict(setup, fault)["findings"]:
                assert guilty[fault] in finding["suspects"], (setup, fault)


def test_a_lost_record_narrows() -> None:
    """What README says of telemetry that is lost: the components around it share the suspicion, or it is unproven."""
    (finding,) = verdict(LOST, "proxy behind the gateway loses an event")["findings"]
    assert (finding["suspects"], finding["confidence"]) == (["transport", "parser"], "narrowed")
    assert verdict(LOST, "client cancels")["integrity"] == "unproven"


def test_the_provider_s_own_loss_is_seen_by_nobody() -> None:
    """The one row of README's table that is the same for every setup."""
    assert all("provider leaves an event out" in knowledge(setup)[2] for setup in SETUPS)
