"""Where the programs are: one function each, which returns a path or raises ServiceMissing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.services.errors import ServiceMissing

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".services"
"""Downloads live here, inside the clone and ignored by git."""

KAFKA_VERSION = "4.1.1"
KAFKA_LIBS = CACHE / f"kafka-{KAFKA_VERSION}"
JAVA_AT_LEAST = 17
"""Brokers of Kafka 4 need it."""

_POSTGRES_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_INSTALL = "run `python -m tests.services install` (Debian and root)"


def java() -> str:
    """Path of a Java that is new enough; JAVA_HOME goes before the search path."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin") if home else None
    path = path or shutil.which("java")
    if path is None:
        raise ServiceMissing("java", f"{_INSTALL}, or install a JRE {JAVA_AT_LEAST} or newer")
    if (version := _java_version(path)) < JAVA_AT_LEAST:
        raise ServiceMissing(f"java {JAVA_AT_LEAST}", f"{path} is Java {version}; set JAVA_HOME to a newer one")
    return path


@cache
def _java_version(path: str) -> int:
    """Major version that this java reports; 0 where it does not run."""
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def maven() -> str:
    """Path of mvn."""
    if (path := shutil.which("mvn")) is None:
        raise ServiceMissing("maven", f"{_INSTALL}, or install Maven, or set KAFKA_HOME to an unpacked Kafka")
    return path


def kafka_libs() -> Path:
    """Folder with the broker's jars: KAFKA_HOME/libs where set, else what `install` fetched."""
    if home := os.environ.get("KAFKA_HOME"):
        if not list(Path(home, "libs").glob("kafka_*.jar")):
            raise ServiceMissing("kafka", f"KAFKA_HOME={home} holds no libs/kafka_*.jar")
        return Path(home, "libs")
    if not KAFKA_LIBS.is_dir():
        raise ServiceMissing("kafka", "run `python -m tests.services install` (needs Maven), or set KAFKA_HOME")
    return KAFKA_LIBS


def postgres_bin() -> Path:
    """Folder of initdb and postgres; Debian keeps them off the search path. The newest version wins."""
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    folders = [folder for pattern in _POSTGRES_FOLDERS for folder in Path("/").glob(pattern[1:])]
    usable = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    if not usable:
        raise ServiceMissing("postgresql", f"{_INSTALL}, or put initdb and postgres on PATH")
    return max(usable, key=lambda folder: [int(number) for number in re.findall(r"\d+", str(folder))])


def promtool() -> str:
    """Path of promtool."""
    if (path := shutil.which("promtool")) is None:
        raise ServiceMissing("promtool", f"{_INSTALL}, or install Prometheus")
    return path
