"""Where did the missing words go: observation points for streamed LLM answers.

    import streamwitness
    client = streamwitness.instrument(openai.OpenAI())

Names load what they need when first used: importing this loads neither an HTTP library nor the OpenTelemetry SDK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from . import semconv

if TYPE_CHECKING:
    from . import envelope, gateway, testing
    from .client import applied, instrument, uninstrument, watch
    from .client.identify import stream_id
    from .client.resume import Checkpoint
    from .runtime import configure, flush, shutdown
    from .settings import SettingsError

__version__: Final = semconv.VERSION

__all__ = [
    "Checkpoint",
    "SettingsError",
    "__version__",
    "applied",
    "configure",
    "envelope",
    "flush",
    "gateway",
    "instrument",
    "shutdown",
    "stream_id",
    "testing",
    "uninstrument",
    "watch",
]

_HOMES: Final = {
    "Checkpoint": "client.resume",
    "SettingsError": "settings",
    "applied": "client",
    "configure": "runtime",
    "flush": "runtime",
    "instrument": "client",
    "shutdown": "runtime",
    "stream_id": "client.identify",
    "uninstrument": "client",
    "watch": "client",
}
"""Name → the module here that defines it; other names of `__all__` are modules themselves."""


def __getattr__(name: str) -> Any:
    """PEP 562: load a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name)
    value = importlib.import_module(f".{home or name}", __name__)
    if home is not None:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
