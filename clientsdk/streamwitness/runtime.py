"""The SDK's state in this process: settings, and the sink that every hook gives its recorders.

`configure()` sets it and changes it while running; without it the first hook reads the environment. A wrong value in
the environment never reaches the host as an exception: the SDK stays off and says why, once. After a fork the child
gets a sink (queue, thread) of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from . import faults
from .export.worker import EXIT_TIMEOUT, Exporter, Worker
from .providers import PROFILES
from .recorder import Sink
from .semconv import Level, Mode, Point
from .settings import SettingsError, load, require, setting

_PROFILES: Final = f"with a name out of {', '.join(PROFILES)}"

_logger = logging.getLogger("streamwitness")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of the SDK: arguments of `configure()`, or `STREAMWITNESS_<NAME>`."""

    endpoint: str = setting("http://127.0.0.1:4318", "base URL of the OTLP/HTTP receiver; /v1/traces is added")
    key: str = setting("", "ingest key, sent as Authorization: Bearer", secret=True)
    mode: Mode = setting(
        "observe",
        "off: hooks do nothing; observe: streams are recorded, bodies untouched; stamp: events may be numbered",
    )
    level: Level = setting("digests", "counters: no rows; rows: no digests; digests: both")
    sample: float = setting(1.0, "share of streams recorded, 0 to 1; decided by a hash of the stream id")
    origins: tuple[str, ...] = setting((), "gateway origins that the client announces itself to (https://llm.example)")
    include: tuple[str, ...] = setting((), "path patterns to observe (* and ?); none: every path")
    exclude: tuple[str, ...] = setting((), "path patterns to leave alone; wins over include")
    stamp_paths: tuple[str, ...] = setting((), "path patterns whose events may be numbered; none: every observed one")
    profiles: tuple[str, ...] = setting((), "formats by path pattern, first match wins (/my/chat=openai_chat)")
    service: str = setting("", "service.name of the telemetry; none: OTEL_SERVICE_NAME")

    def __post_init__(self) -> None:
        require(0.0 <= self.sample <= 1.0, "sample", self.sample, "0 to 1")
        require(_is_url(self.endpoint), "endpoint", self.endpoint, "an http:// or https:// URL")
        for origin in self.origins:
            require(_is_url(origin), "origins", origin, "http:// or https:// origins separated by commas")
        for named in self.profiles:
            require(named.rpartition("=")[2].strip() in PROFILES, "profiles", named, f"pattern=name, {_PROFILES}")


class Pipeline(Sink, Protocol):
    """A sink that can be flushed: the worker, or a test's memory."""

    def flush(self, timeout: float) -> bool:
        """Deliver what waits; True if all of it arrived."""

    def shutdown(self, timeout: float) -> bool:
        """Flush and stop."""


class Runtime:
    """Settings and sink of this process. Hooks ask `current()` for each stream, so that changes reach the next one."""

    __slots__ = ("_given", "settings", "sink")

    def __init__(self, settings: ClientSettings, sink: Pipeline | None = None) -> None:
        self.settings = settings
        """Replaced as a whole by `configure()`."""
        self.sink: Pipeline = sink or self._worker()
        self._given: dict[str, Any] = {}

    def sampled(self, stream_id: str) -> bool:
        """Whether this stream is recorded: the same answer in every process, from the id alone."""
        return in_sample(stream_id, self.settings.sample)

    def flush(self, timeout: float = EXIT_TIMEOUT) -> bool:
        """Deliver what waits; True if all of it arrived within `timeout` s. Blocks: not for an event loop."""
        return self.sink.flush(timeout)

    def shutdown(self, timeout: float = EXIT_TIMEOUT) -> bool:
        """Flush and stop for good; True if all of it arrived. What is recorded later is dropped."""
        return self.sink.shutdown(timeout)

    def _worker(self) -> Worker:
        return Worker(self._exporter, name=lambda: _shown(self.settings.endpoint))

    def _exporter(self) -> Exporter:
        from .export.otlp import OtlpExporter  # loads the OpenTelemetry SDK: not before there is something to send

        settings = self.settings
        return OtlpExporter(settings.endpoint, settings.key, settings.service)

    def _change(self, settings: ClientSettings) -> None:
        old, self.settings = self.settings, settings
        target = (settings.endpoint, settings.key, settings.service)
        if target != (old.endpoint, old.key, old.service) and isinstance(self.sink, Worker):
            self.sink.retarget()

    def _after_fork(self) -> None:
        if isinstance(self.sink, Worker):
            self.sink = self._worker()


_lock = threading.RLock()
_current: Runtime | None = None
_told = ""
"""What was said last to be wrong with the environment: nothing is said twice."""


def configure(
    *,
    endpoint: str | None = None,
    key: str | None = None,
    mode: str | None = None,
    level: str | None = None,
    sample: float | None = None,
    origins: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    stamp_paths: Sequence[str] | None = None,
    profiles: Sequence[str] | None = None,
    service: str | None = None,
) -> Runtime:
    """Set up the SDK, or change it while it runs; what is not given keeps its value.

    An argument wins over its `STREAMWITNESS_*` variable, that over the default. Streams that are under way keep the
    settings they began with. Raises SettingsError, and then changes nothing.
    """
    given: dict[str, Any] = {
        "endpoint": endpoint, "key": key, "mode": mode, "level": level, "sample": sample, "service": service,
        "origins": _texts(origins), "include": _texts(include), "exclude": _texts(exclude),
        "stamp_paths": _texts(stamp_paths), "profiles": _texts(profiles),
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    with _lock:
        before = _current._given if _current is not None else {}
        settings = load(ClientSettings, environ=os.environ, overrides=before | given)
        runtime = _current or _install(Runtime(settings))
        runtime._change(settings)
        runtime._given = before | given
        return runtime


def current() -> Runtime:
    """The SDK's state; read from the environment on first use. Never raises."""
    return _current or _from_environment()


def look_at_settings() -> None:
    """Say now what is wrong with the environment, not when the first stream comes; changes nothing. Never raises.

    What is in force is still decided at the first stream: until then `configure()` may come.
    """
    if _current is None:
        with contextlib.suppress(SettingsError):
            _from_variables()


def flush(timeout: float = EXIT_TIMEOUT) -> bool:
    """Deliver the telemetry that waits; True if all of it arrived within `timeout` s. Blocks."""
    return _current.flush(timeout) if _current is not None else True


def shutdown(timeout: float = EXIT_TIMEOUT) -> bool:
    """Flush and stop; the next `configure()` or stream starts anew. The end of the process does this by itself."""
    global _current, _told
    with _lock:
        runtime, _current, _told = _current, None, ""
    return runtime.shutdown(timeout) if runtime is not None else True


def replace(runtime: Runtime | None) -> Runtime | None:
    """Put another runtime in place and return the one before (test kits; `testing.recording` uses it)."""
    global _current, _told
    with _lock:
        before, _current, _told = _current, runtime, ""
    return before


def in_sample(stream_id: str, share: float) -> bool:
    """Whether a stream belongs to the sampled share (0 to 1).

    The first 4 bytes of BLAKE2s (digest size 4, no key) over the id's hex digits, read little-endian, as a share of
    2³²: uniform, and the same in every language and process.
    """
    if share >= 1.0:
        return True
    digest = hashlib.blake2s(stream_id.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") < share * 2**32


def _from_environment() -> Runtime:
    with _lock:
        if _current is not None:
            return _current
        try:
            settings = _from_variables()
        except SettingsError:
            settings = ClientSettings(mode="off")
        return _install(Runtime(settings))


def _from_variables() -> ClientSettings:
    """The settings of the environment; says what is wrong there, once, and raises SettingsError."""
    global _told
    try:
        return load(ClientSettings, environ=os.environ)
    except SettingsError as error:
        if _told != str(error):
            _told = str(error)
            _logger.error("streamwitness is off: %s", error)
        raise


def _install(runtime: Runtime) -> Runtime:
    global _current
    _current = runtime
    _at_exit_once()
    return runtime


_exit_registered = False


def _at_exit_once() -> None:
    global _exit_registered
    if not _exit_registered:
        _exit_registered = True
        atexit.register(_at_exit)


def _at_exit() -> None:
    """Close what is open, then flush: within the bound, and without a word to the host."""
    runtime = _current
    if runtime is None:
        return
    try:
        if isinstance(runtime.sink, Worker):
            runtime.sink.close_open(_end_at_exit, "the process ended")
        runtime.shutdown(EXIT_TIMEOUT)
    except Exception as error:
        faults.fault("runtime.exit", error)


def _end_at_exit(point: Point) -> str:
    return "shutdown" if point == "egress" else "abandoned"


def _after_fork() -> None:
    """In the child: a lock that another thread of the parent may have held, and a sink of its own."""
    global _lock
    _lock = threading.RLock()
    if _current is not None:
        _current._after_fork()


def _texts(values: Sequence[str] | None) -> Sequence[str] | None:
    return values if values is None or isinstance(values, str) else tuple(values)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _shown(url: str) -> str:
    """The URL as log messages may show it: no credentials, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
