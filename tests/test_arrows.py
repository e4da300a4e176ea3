"""Who may import whom: read from the sources, so that an arrow against the grain fails before it matters."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOMES = {"streamwitness": "clientsdk", "streamwitness_collector": "collector", "streamwitness_analyzer": "analyzer"}
"""Import package → its folder."""

CONTRACT = {f"streamwitness.{name}" for name in ("blocks", "commands", "rows", "semconv", "settings", "sums")}
"""What the servers may import of the SDK: pure modules, safe to have anywhere."""

PURE = (
    "streamwitness.backlog",
    "streamwitness.blocks",
    "streamwitness.client.resume",
    "streamwitness.commands",
    "streamwitness.digests",
    "streamwitness.envelope",
    "streamwitness.events",
    "streamwitness.framing",
    "streamwitness.gateway.stamp",
    "streamwitness.headers",
    "streamwitness.ledger",
    "streamwitness.observer",
    "streamwitness.providers",
    "streamwitness.recorder",
    "streamwitness.reducers",
    "streamwitness.rows",
    "streamwitness.semconv",
    "streamwitness.settings",
    "streamwitness.stamping",
    "streamwitness.sums",
    "streamwitness.waits",
    "streamwitness_analyzer.judge",
    "streamwitness_analyzer.vocabulary",
)
"""The core without I/O (a name with everything below it): bytes, rows and a time go in, values come out."""

BRIDGES = {"streamwitness.faults", "streamwitness.forked"}
"""The only doors out of the core: counting a fault of ours, and noticing a fork."""

IMPURE = {
    *(
        "aiohttp",
        "anyio",
        "asyncio",
        "datetime",
        "http",
        "httpx",
        "httpx2",
        "io",
        "kafka",
        "logging",
        "multiprocessing",
    ),
    *("openai", "opentelemetry", "os", "pathlib", "psycopg", "queue", "random", "requests", "select", "selectors"),
    *("signal", "socket", "sqlalchemy", "sqlite3", "ssl", "starlette", "subprocess", "tempfile", "time", "urllib"),
    *("urllib3", "uvicorn"),
}
"""Sockets, files, clocks, loggers and the libraries that bring them."""

HEAVY = (
    "anyio",
    "asyncio",
    "httpx",
    "httpx2",
    "kafka",
    "openai",
    "opentelemetry",
    "sqlalchemy",
    "starlette",
    "uvicorn",
)
"""What `import streamwitness` must not load: it runs in processes that never stream anything."""


def modules() -> dict[str, Path]:
    """Every module of ours → its file."""
    found = {}
    for package, home in HOMES.items():
        for path in sorted((ROOT / home / package).rglob("*.py")):
            parts = path.relative_to(ROOT / home).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(module: str) -> Iterator[str]:
    """Absolute names of what a module imports anywhere in it; `from a import b` is a.b where that is a module."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            name = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                yield f"{name}.{alias.name}" if f"{name}.{alias.name}" in MODULES else name


def within(module: str, names: tuple[str, ...] | set[str]) -> bool:
    """True for one of the names and for what lies below it."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def ours(module: str) -> set[str]:
    """The modules of ours that it imports."""
    return {name for name in imports(module) if within(name, set(HOMES))}


def of(*names: str) -> list[str]:
    """Our modules within these names."""
    return [module for module in MODULES if within(module, set(names))]


@pytest.mark.parametrize("name", [*PURE, *CONTRACT, *BRIDGES])
def test_the_rules_are_about_modules_that_exist(name: str) -> None:
    """A rule about a module that was renamed would hold for nothing."""
    assert of(name)


def test_imports_are_read_with_relative_ones_resolved() -> None:
    """The reader of imports sees what it is meant to see (a blind one would let every test here pass)."""
    assert {"streamwitness.framing", "streamwitness.providers"} <= ours("streamwitness.observer")
    assert "streamwitness.blocks" in ours("streamwitness.recorder")
    assert "importlib" in set(imports("streamwitness"))


@pytest.mark.parametrize("module", of("streamwitness"))
def test_the_sdk_imports_nothing_of_the_servers(module: str) -> None:
    """clientsdk → nothing of ours: it must work where only the base is installed."""
    assert {name for name in ours(module) if not within(name, {"streamwitness"})} == set()


@pytest.mark.parametrize("module", of("streamwitness_collector"))
def test_the_collector_imports_only_the_contract(module: str) -> None:
    """collector → the contract modules of the SDK, and itself."""
    assert {name for name in ours(module) if not within(name, CONTRACT | {"streamwitness_collector"})} == set()


@pytest.mark.parametrize("module", of("streamwitness_analyzer"))
def test_the_analyzer_imports_only_the_contract(module: str) -> None:
    """analyzer → the contract modules of the SDK, and itself; only the all-in-one knows the collector."""
    allowed = CONTRACT | {"streamwitness_analyzer"}
    if module == "streamwitness_analyzer.allinone":
        allowed |= {"streamwitness_collector"}
    assert {name for name in ours(module) if not within(name, allowed)} == set()


@pytest.mark.parametrize("module", of(*PURE))
def test_the_core_has_no_input_and_no_output(module: str) -> None:
    """No socket, file, clock, logger or telemetry library in the core, so sync and async are never written twice."""
    assert {name.partition(".")[0] for name in imports(module)} & IMPURE == set()


@pytest.mark.parametrize("module", of(*PURE))
def test_the_core_leans_on_nothing_outside_itself(module: str) -> None:
    """What the core imports of ours is core as well, but for the two bridges."""
    assert {name for name in ours(module) if not within(name, {*PURE, *BRIDGES})} == set()


@pytest.mark.parametrize("module", of("streamwitness.demo"))
def test_the_demo_is_a_user(module: str) -> None:
    """The demo uses what a user has: the public names, the command declaration, the CLI and the HTTP API."""
    public = {"streamwitness.commands", "streamwitness.gateway", "streamwitness.demo"}
    assert {name for name in ours(module) if name != "streamwitness" and not within(name, public)} == set()


@pytest.mark.parametrize("module", [module for module in MODULES if not within(module, {"streamwitness.demo"})])
def test_nothing_leans_on_the_demo(module: str) -> None:
    """The demo can be deleted without touching the product."""
    assert {name for name in ours(module) if within(name, {"streamwitness.demo"})} == set()


@pytest.mark.parametrize(
    "code",
    [
        "import streamwitness",
        "import streamwitness.cli; streamwitness.cli.build_parser()",
    ],
)
def test_importing_is_cheap(code: str) -> None:
    """`import streamwitness` and `streamwitness --help` load no HTTP library, broker, database or OpenTelemetry."""
    listing = f"{code}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [name for name in HEAVY if name in loaded] == []


JUDGE = "streamwitness_analyzer.judge."
STOREYS = (
    {"testimony"}, {"compare"}, {"gateway", "client"}, {"attribute"}, {"path", "waiting"},
    {"source", "refused", "waste", "ending"}, {"together"}, {"order"}, {"well"}, {"hops"}, {"telling"}, {"verdict"},
)  # fmt: skip
"""The rooms and files of the judge, in the order in which data goes through them."""


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(JUDGE)])
def test_data_goes_one_way_through_the_judge(module: str) -> None:
    """Each room imports only what stands before it, and itself."""
    storey = {room: place for place, rooms in enumerate(STOREYS) for room in rooms}
    here = module.removeprefix(JUDGE).split(".")[0]
    used = {name.removeprefix(JUDGE).split(".")[0] for name in imports(module) if name.startswith(JUDGE)} - {here}
    assert [room for room in used if storey[room] >= storey[here]] == []
