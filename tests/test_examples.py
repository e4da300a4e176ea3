"""The examples run as they are, against real servers on loopback, are typed, and are what README shows of them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from streamwitness.demo.run import Product, embedded, fetch
from streamwitness.demo.serving import free_port, process
from tests.docs import markdown
from tests.docs.markdown import ROOT

EXAMPLES = ROOT / "examples"
CLIENTS = ("client_openai", "client_httpx")
ANSWER = (
    "The harbour was quiet when the first boat came in with no lights, "
    "and nobody on the pier could say who had called it home."
)
DEADLINE = 60


class Servers:
    """The all-in-one, the demo's provider, and the example gateway in front of it."""

    def __init__(self, product: Product, gateway: str) -> None:
        self.product, self.gateway = product, gateway

    def ask(self, client: str, model: str, *, origins: str) -> tuple[str, str]:
        """Run an example client as a user would: (what it said, the stream's id)."""
        done = self.run(client, model, origins=origins)
        assert done.returncode == 0, done.stderr
        assert ("STREAMWITNESS_ORIGINS" in done.stderr) if not origins else (done.stderr == "")
        said, command = done.stdout.rstrip("\n").split("\n")  # not splitlines: an answer may hold U+2028
        return said, command.removeprefix("streamwitness show ")

    def run(self, client: str, model: str, *, origins: str) -> subprocess.CompletedProcess[str]:
        """Run an example client, whatever comes of it."""
        environ = {
            **os.environ,
            "STREAMWITNESS_ENDPOINT": self.product.endpoint,
            "STREAMWITNESS_ORIGINS": origins,
        }
        return subprocess.run(
            [sys.executable, str(EXAMPLES / f"{client}.py"), self.gateway, model],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE,
        )

    def verdict(self, stream: str) -> dict[str, object]:
        """The settled verdict."""
        return fetch(self.product.server, stream, lambda _: None)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Each takes a port only when the one before it has its own."""
    database = tmp_path_factory.mktemp("examples") / "examples.db"
    ready = "http://127.0.0.1:{}/v1/chat/completions"
    with ExitStack() as stack:
        product = stack.enter_context(embedded(f"sqlite:///{database}"))
        provider = free_port()
        stack.enter_context(process(["streamwitness.demo.provider", str(provider)], ready=ready.format(provider)))
        environ = {
            "UPSTREAM": f"http://127.0.0.1:{provider}",
            "STREAMWITNESS_ENDPOINT": product.endpoint,
            "PYTHONPATH": str(EXAMPLES),
        }
        gateway = free_port()
        stack.enter_context(process(["gateway_starlette", str(gateway)], ready=ready.format(gateway), environ=environ))
        yield Servers(product, f"http://127.0.0.1:{gateway}")


@pytest.mark.parametrize("client", CLIENTS)
def test_client_and_gateway_are_one_stream(servers: Servers, client: str) -> None:
    """With the gateway named in its origins, all five points testify, and the answer is intact."""
    said, stream = servers.ask(client, "plain", origins=servers.gateway)
    verdict = servers.verdict(stream)
    assert said == ANSWER
    assert [point["point"] for point in verdict["points"]] == ["ingress", "egress", "wire", "parsed", "applied"]
    assert (verdict["ending"]["class"], verdict["integrity"]) == ("completed", "intact")
    assert verdict["why"]["cleared"] == ["gateway", "transport", "parser", "reducer"]


@pytest.mark.parametrize("client", CLIENTS)
def test_client_alone(servers: Servers, client: str) -> None:
    """Without origins the client testifies alone, and is told so; what it says of itself is proven."""
    _, stream = servers.ask(client, "plain", origins="")
    verdict = servers.verdict(stream)
    assert [point["point"] for point in verdict["points"]] == ["wire", "parsed", "applied"]
    assert (verdict["integrity"], verdict["why"]["cleared"]) == ("intact", ["parser", "reducer"])


@pytest.mark.parametrize("client", CLIENTS)
def test_an_upstream_that_stops_is_told(servers: Servers, client: str) -> None:
    """The provider stops in mid-text: no exception, no log line, but an ending that names it."""
    _, stream = servers.ask(client, "cut:9", origins=servers.gateway)
    ending = servers.verdict(stream)["ending"]
    assert (ending["class"], ending["by"]) == ("upstream_truncated", "source")


def test_a_client_whose_stream_failed_says_which_it_was(servers: Servers) -> None:
    """The provider sends an error, the openai package raises, and the command is printed all the same."""
    done = servers.run("client_openai", "error:6", origins=servers.gateway)
    assert "openai.APIError" in done.stderr
    stream = done.stdout.strip().removeprefix("streamwitness show ")
    assert servers.verdict(stream)["ending"]["class"] == "upstream_error"


@pytest.mark.parametrize("program", ["client_openai", "client_httpx", "gateway_starlette", "-m"])
def test_without_arguments_they_say_how_they_are_called(program: str) -> None:
    """Instead of a traceback; so does the demo's provider."""
    words = ["-m", "streamwitness.demo.provider"] if program == "-m" else [str(EXAMPLES / f"{program}.py")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert ("usage: python -m" in done.stderr) if program == "-m" else (f"python examples/{program}.py" in done.stderr)


def test_the_httpx_example_s_parser_does_not_split_words(servers: Servers) -> None:
    """U+2028 inside a word ends no line: the example shows how it is done right."""
    _, stream = servers.ask("client_httpx", "separator:12", origins=servers.gateway)
    assert servers.verdict(stream)["integrity"] == "intact"


def test_examples_are_typed(pytestconfig: pytest.Config) -> None:
    """mypy --strict has nothing to say; what it has read of the libraries it keeps for the next run."""
    pytest.importorskip("mypy")
    kept = pytestconfig.cache.mkdir("mypy") if getattr(pytestconfig, "cache", None) else os.devnull
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--config-file=",
        f"--cache-dir={kept}",
        ".",
    ]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_examples_use_public_names_only(name: str) -> None:
    """Of ours an example imports `streamwitness` and `streamwitness.gateway`, and nothing deeper."""
    found = set()
    for node in ast.walk(ast.parse((EXAMPLES / name).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    assert {module for module in found if module.startswith("streamwitness")} <= {
        "streamwitness",
        "streamwitness.gateway",
    }


@pytest.mark.parametrize("block", markdown.code((ROOT / "README.md").read_text(), "python"))
def test_readme_shows_lines_of_the_examples(block: str) -> None:
    """Each Python block of README stands in one example, line for line; an empty line may stand for others."""
    texts = [flat(path.read_text()) for path in EXAMPLES.glob("*.py")]
    assert any(in_order(flat(block).split("\n\n"), text) for text in texts)


def test_the_examples_have_no_key() -> None:
    """Nothing that looks like somebody's secret, and no address but this machine's."""
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://127.0.0.1"}
        assert "sk-" not in text


def flat(text: str) -> str:
    """Lines without their indentation: what is shown alone was inside a function."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def in_order(chunks: list[str], text: str) -> bool:
    """Whether the chunks stand in the text, one behind the other."""
    at = 0
    for chunk in chunks:
        at = text.find(chunk, at)
        if at < 0:
            return False
        at += len(chunk)
    return True
