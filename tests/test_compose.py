"""docker-compose.yml and Dockerfile say nothing that does not exist; no container engine is needed to know that."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamwitness.cli import build_parser
from streamwitness.settings import load, options

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("streamwitness:")]


def parsed(name: str) -> Namespace:
    """The service's command as the real command line understands it."""
    return build_parser().parse_args(SERVICES[name]["command"])


def environment(name: str) -> dict[str, str]:
    """The service's environment on a machine that sets no variable of its own: `${X:-default}` is the default."""
    given = SERVICES[name].get("environment", {})
    return {key: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(value)) for key, value in given.items()}


def mounts(name: str) -> dict[str, str]:
    """Files of this repository that the service mounts: path here → path in the container."""
    volumes = [volume.split(":") for volume in SERVICES[name].get("volumes", [])]
    return {volume[0]: volume[1] for volume in volumes if volume[0].startswith(".")}


def test_it_describes_the_production_path() -> None:
    """Nothing of the production path is left for the user to find."""
    assert sorted(SERVICES) == ["analyzer", "collector", "demo", "kafka", "postgres", "prometheus"]


@pytest.mark.parametrize("name", OURS)
def test_its_commands_and_options_exist(name: str) -> None:
    """The real parser accepts each command with its options, and the command is installed."""
    entry = parsed(name).entry
    assert (entry.name, entry.problem) == (SERVICES[name]["command"][0], "")


@pytest.mark.parametrize("name", OURS)
def test_its_variables_are_settings_of_their_command(name: str) -> None:
    """Each STREAMWITNESS_ variable is one that the service's command reads, with a value it accepts."""
    settings = parsed(name).entry.command.settings
    known = {option.variable for option in options(settings)} if settings else set()
    given = environment(name)
    assert set(given) <= known
    if settings:
        load(settings, environ=given)


def test_what_the_user_may_set_is_a_setting() -> None:
    """A variable taken from the user's environment has the name that our own settings have."""
    text = (ROOT / "docker-compose.yml").read_text()
    substituted = set(re.findall(r"\$\{(\w+)", text))
    commands = [parsed(name).entry.command for name in OURS]
    known = {option.variable for command in commands if command.settings for option in options(command.settings)}
    assert substituted <= known


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    """An image tag names one version; `latest` or nothing would be a surprise next month."""
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"demo"}))
def test_what_runs_on_has_a_health_check(name: str) -> None:
    """Every service that keeps running says when it is ready, so that `depends_on` and `--wait` mean something."""
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", SERVICES)
def test_dependencies_wait_for_health(name: str) -> None:
    """A service starts after those it needs are healthy, and these exist."""
    needed = SERVICES[name].get("depends_on", {})
    assert set(needed) <= set(SERVICES)
    assert {how["condition"] for how in needed.values()} <= {"service_healthy"}


def test_it_holds_no_secret() -> None:
    """No password, key or token has a value in the file."""
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|KEYS?$")
    values = {
        key: str(value)
        for service in SERVICES.values()
        for key, value in service.get("environment", {}).items()
        if secret.search(key)
    }
    assert all(value.startswith("${") for value in values.values())
    assert not re.search(r"//[^/@\s]+:[^/@\s]+@", (ROOT / "docker-compose.yml").read_text())


def test_only_what_is_meant_for_users_is_reachable() -> None:
    """Ports are published on the loopback address only; Kafka and PostgreSQL are on the internal network alone."""
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert COMPOSE["networks"]["backend"]["internal"] is True
    assert [SERVICES[name]["networks"] for name in ("kafka", "postgres")] == [["backend"], ["backend"]]


@pytest.mark.parametrize("name", ["collector", "analyzer"])
def test_ports_health_checks_and_scrapes_agree(name: str) -> None:
    """The port that a server listens on is the one that is published, asked for health, and scraped."""
    port = environment(name)["STREAMWITNESS_PORT"]
    assert SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"'http://127.0.0.1:{port}/healthz'" in SERVICES[name]["healthcheck"]["test"][-1]
    scrapes = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())["scrape_configs"]
    targets = {found["names"][0]: found["port"] for scrape in scrapes for found in scrape["dns_sd_configs"]}
    assert targets[name] == int(port)


@pytest.mark.parametrize("name", SERVICES)
def test_mounted_files_exist(name: str) -> None:
    """A mounted file that is missing would become an empty folder."""
    assert [path for path in mounts(name) if not (ROOT / path).is_file()] == []


def test_prometheus_accepts_its_configuration_and_our_rules(promtool: str, tmp_path: Path) -> None:
    """promtool checks the configuration laid out as the container sees it, and finds our rules through it."""
    for here, there in mounts("prometheus").items():
        shutil.copy(ROOT / here, tmp_path / Path(there).name)
    check = [promtool, "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"SUCCESS: [1-9]\d* rules found", done.stdout)


def test_the_dockerfile_copies_what_is_there() -> None:
    """Each file that the Dockerfile copies exists and is let through by .dockerignore."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if re.match(r"COPY (?!--from)", line) for word in line.split()[1:-1]]
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert sorted(copied) == sorted(allowed)


def test_the_dockerfile_runs_our_command_on_a_python_that_we_support() -> None:
    """The entry point is our script, and the base image's Python is new enough."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["streamwitness"]' in text
    assert "streamwitness" in project["scripts"]
    versions = {tuple(map(int, found)) for found in re.findall(r"^FROM python:(\d+)\.(\d+)\.", text, re.MULTILINE)}
    assert versions
    assert min(versions) >= tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))


def test_the_image_has_the_version_of_the_project() -> None:
    """The tag of our image follows the version in pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {SERVICES[name]["image"] for name in OURS} == {f"streamwitness:{version}"}
