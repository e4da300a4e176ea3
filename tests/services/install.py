"""Installs the services where that is allowed (Debian, root), fetches Kafka's jars, and says what is still missing.

Safe to repeat, and quick when everything is there. Elsewhere it changes nothing outside the clone's `.services/`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import programs
from tests.services.errors import ServiceMissing

_POLICY = Path("/usr/sbin/policy-rc.d")
_CLUSTER = Path("/etc/postgresql-common/createcluster.d/streamwitness-tests.conf")

_PACKAGES: tuple[tuple[Callable[[], object], str], ...] = (
    (programs.postgres_bin, "postgresql"),
    (programs.promtool, "prometheus"),
    (programs.java, "default-jre-headless"),
)
"""How to find out, and the Debian package that brings it. Maven is needed only while Kafka's jars are not there."""

_SERVICES: tuple[tuple[str, Callable[[], object]], ...] = (
    ("kafka", lambda: (programs.java(), programs.kafka_libs())),
    ("postgres", programs.postgres_bin),
    ("promtool", programs.promtool),
)


def install() -> dict[str, str]:
    """Does what it may, and returns the services that are still missing, with the reason."""
    programs.CACHE.mkdir(exist_ok=True)
    with open(programs.CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install_packages()
        trouble = _fetch_kafka()
    missing = {name: reason for name, find in _SERVICES if (reason := _reason(find))}
    if trouble and "kafka" in missing:
        missing["kafka"] += f" ({trouble})"
    return missing


def _reason(find: Callable[[], object]) -> str:
    """Why a program is not here; empty if it is."""
    try:
        find()
    except ServiceMissing as missing:
        return str(missing)
    return ""


def _install_packages() -> None:
    """apt-get install of what is missing; a failure is told and left to the callers, who name what they lack."""
    wanted = [package for find, package in _PACKAGES if _reason(find)]
    if _reason(programs.kafka_libs) and _reason(programs.maven):
        wanted.append("maven")
    if not wanted:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"services: not installing {' '.join(wanted)} (needs Debian and root)", flush=True)
        return
    print(f"services: apt-get install {' '.join(wanted)}", flush=True)
    with _quiet_services():
        # The lists may be missing or name versions that are gone: only then are they worth fetching.
        if not _apt("install", *wanted) and _apt("update", tell=True):
            _apt("install", *wanted, tell=True)


def _apt(action: str, *packages: str, tell: bool = False) -> bool:
    """Runs apt-get, which asks nothing and keeps configuration that is there; with `tell`, says why it failed."""
    keep = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
    command = ["apt-get", "-q", "-y", *keep, "--no-install-recommends", action, *packages]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        check=False,
    )
    if done.returncode != 0 and tell:
        print(f"services: apt-get {action} failed:", *done.stdout.splitlines()[-8:], sep="\n  ", flush=True)
    return done.returncode == 0


@contextmanager
def _quiet_services() -> Iterator[None]:
    """Debian starts what it installs. We want the programs, not running system services and no system cluster.

    policy-rc.d is Debian's switch for the first, createcluster.d PostgreSQL's for the second; both go away afterwards.
    """
    made: list[Path] = []
    for path, text, mode in (
        (_POLICY, "#!/bin/sh\nexit 101\n", 0o755),
        (_CLUSTER, "create_main_cluster = false\n", 0o644),
    ):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
            made.append(path)
    try:
        yield
    finally:
        for path in made:
            path.unlink(missing_ok=True)


def _fetch_kafka() -> str:
    """Kafka's jars into the cache folder, whole or not at all. Returns why not, empty if they are there."""
    if not _reason(programs.kafka_libs):
        return ""
    if os.environ.get("KAFKA_HOME") or _reason(programs.maven) or _reason(programs.java):
        return "; ".join(filter(None, (_reason(programs.maven), _reason(programs.java))))
    print(f"services: fetching Kafka {programs.KAFKA_VERSION} with Maven", flush=True)
    partial = programs.KAFKA_LIBS.with_suffix(".part")
    shutil.rmtree(partial, ignore_errors=True)
    done = subprocess.run(
        [
            programs.maven(),
            "-q",
            "-B",
            f"-f={Path(__file__).with_name('pom.xml')}",
            f"-Dkafka.version={programs.KAFKA_VERSION}",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={partial}",
            "-DincludeScope=runtime",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = done.stdout.splitlines()[-5:]
        print("services: Maven failed:", *tail, sep="\n  ", flush=True)
        return "Maven could not fetch it; its output is above"
    partial.rename(programs.KAFKA_LIBS)
    return ""
