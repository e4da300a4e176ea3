"""The entry point `opentelemetry_instrumentor`: `opentelemetry-instrument python app.py` finds us by it.

It has what that command and `BaseInstrumentor` users call (opentelemetry-instrumentation 0.66), without depending on
the package: `instrument`, `uninstrument`, `instrumentation_dependencies`, `is_instrumented_by_opentelemetry`. Class
and instance behave as there: one instance, and a second call changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar


class StreamWitnessInstrumentor:
    """Instruments every supported library of this process, as `streamwitness.instrument()` does."""

    _instance: ClassVar[StreamWitnessInstrumentor | None] = None

    def __new__(cls, *_args: Any, **_kwargs: Any) -> StreamWitnessInstrumentor:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether every library is instrumented, by whichever call."""
        from . import instrumented

        return instrumented()

    def instrumentation_dependencies(self) -> Collection[str]:
        """None: whichever of the supported libraries there is, is instrumented."""
        return ()

    def instrument(self, **_kwargs: Any) -> None:
        """Instrument what is imported, and the rest when it is. Settings come from the environment."""
        from . import instrument

        instrument()

    def uninstrument(self, **_kwargs: Any) -> None:
        """Put everything back."""
        from . import uninstrument

        uninstrument()
