"""A stream and the verdict on it, with what follows from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from bench.truth.labels import (
    HARMLESS_ACTS,
    KIND_BY_NUMBERS,
    SOURCE_EVIDENCE,
    STOOD_STILL,
    Passage,
    Trial,
)
from streamwitness.semconv import COMPONENTS, Component, Point

AROUND: Final[dict[Component, frozenset[Point]]] = {
    "gateway": frozenset(("ingress", "egress")),
    "transport": frozenset(("egress", "wire")),
    "parser": frozenset(("wire", "parsed")),
    "reducer": frozenset(("parsed", "applied")),
}
"""Component → the two points around it."""
EXCUSED: Final[dict[str, frozenset[Component]]] = {
    "several answers": frozenset(("gateway",)),
    "recovered": frozenset(("transport",)),
    "edited": frozenset(("gateway",)),
    "undone": frozenset(("gateway", "transport", "parser")),
    "unprovable": frozenset(COMPONENTS),
}
"""Notes of streams → whose fault no record tells from something else: an answer made of several upstream ones is the
gateway's, what another connection brought was lost on the way, an edit hides what else the gateway did, and what one
took back of the deed of another is no matter of the application's, which is held to by name."""
_SHOWING: Final = frozenset(("invent", "swallow", "malform", "misapply", "foreign", "late", "partial", "refuse"))
"""Acts that show whatever came out, unless they are the source's."""


@dataclass(frozen=True)
class Case:
    """A verdict on a trial. `whole`: all that was recorded is held, so it must be complete, too.

    `unharmed`: where something was lost, the points of which nothing was.
    """

    trial: Trial
    verdict: Mapping[str, Any]
    whole: bool
    unharmed: frozenset[Point] = frozenset()

    @cached_property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """What it found; but where the machine stood still no delay that nobody among its suspects has made."""
        found: Sequence[Mapping[str, Any]] = self.verdict["findings"]
        late = {deed.component for deed in self.trial.deeds if deed.act == "delay"}
        if STOOD_STILL not in self.trial.notes:
            return found
        return [finding for finding in found if finding["kind"] != "delayed" or late & set(finding["suspects"])]

    @cached_property
    def guilty(self) -> frozenset[Component]:
        """See `guilty`."""
        return guilty(self.trial)

    def against(self, who: Component) -> list[Mapping[str, Any]]:
        """Findings that accuse this one alone."""
        return [finding for finding in self.findings if finding["suspects"] == [who]]

    def blurred(self, who: Component) -> bool:
        """Whether lost rows took away what tells the kind of its doing."""
        return who == "transport" and not self.whole and KIND_BY_NUMBERS in self.trial.notes

    def between_points(self, passage: Passage) -> bool:
        """Whether both points around it were to testify."""
        return AROUND[passage.component] <= self.trial.points


def guilty(trial: Trial) -> frozenset[Component]:
    """Whose work shows: what came out is not what went in, or the deed is of a sort that shows otherwise.

    A deed that changes nothing is invisible: nobody can know it.
    """
    seen = {passage.component for passage in trial.passages if passage.visible}
    told = {deed.component for deed in trial.deeds if deed.act in HARMLESS_ACTS}
    source = {deed.component for deed in trial.deeds if deed.component == "source" and deed.act in SOURCE_EVIDENCE}
    also = {deed.component for deed in trial.deeds if deed.component != "source" and deed.act in _SHOWING}
    return frozenset(seen | told | source | also)


def known(components: frozenset[Component]) -> list[Component]:
    """In path order."""
    return [component for component in COMPONENTS if component in components]
