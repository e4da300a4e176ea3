"""Streams that ended early at the same moment: a limit on the way, and no accident. Pure.

Compared are streams of one service and provider. A window of one measure (time, silence, bytes) is a cluster if at
least three cut streams lie in it and if so many hardly meet by chance. How many are to be expected there (λ) is
estimated from what lies around it, at the denser side, with its standard error added: close by, within ± 40 % of the
value, and from the whole streams in the very window, so that answers of a fixed length make no limit of their length.
There must be at least three times as many as that, and the chance that any of m cut streams has k - 1 others beside it,
at most m / k · P(Poisson(λ) ≥ k - 1) for each width of window, must stay below `CHANCE`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from streamwitness import semconv as sc

from .limits import MEASURES, Limit, Measure, near
from .vocabulary import ENDINGS

CHANCE: Final = 0.001
"""How likely a cluster may be an accident, for each group of streams and measure."""
FEWEST: Final = 3
_NOT_CUT: Final = frozenset(
    ("completed", "upstream_rejected", "gateway_shutdown", "client_reducer_abort", "unwitnessed")
)
CUT: Final = frozenset(ENDINGS) - _NOT_CUT
"""Endings that a limit can have made. A gateway that is stopped ends many at once, at moments of their own."""

_WIDTHS: Final[dict[Measure, tuple[tuple[float, float], ...]]] = {
    "time": ((0.02, 500), (0.002, 50)),
    "silence": ((0.02, 500), (0.002, 50)),
    "bytes": ((0.02, 64), (0.002, 8)),
}
"""Of a window: its share of the value, and its least width; both are tried (±1 % or ±250 ms, and a tenth of it)."""
_LEAST: Final[dict[Measure, int]] = {"time": 1_000, "silence": 1_000, "bytes": 4_096}
"""Below this nothing is looked for: short answers end at similar moments by themselves."""
_OTHER: Final[dict[Measure, Measure]] = {"time": "bytes", "bytes": "time"}
"""What a limit may be of instead, where an answer comes at an even pace."""
_NEAR, _FAR, _TIMES = 5, 0.4, 3
"""What is around a window: so many widths, and this share of its value. How many times denser a cluster must be."""
_MOST: Final = 8
"""Clusters of one group and measure."""
_PLACES: Final = {
    "source": "at the provider or on the way to it",
    "gateway": "at the gateway",
    "transport": "between gateway out and client received",
    "client": "at the client",
}
_READER_LEFT: Final = frozenset(("client_gone", "client_vanished"))
"""Endings of which a point saw no more than that its reader was gone: what did it lies behind, not before."""


class Ended(NamedTuple):
    """How and when one stream ended, as the store has it; times in ms, None where that is not known."""

    stream: str
    service: str | None
    provider: str | None
    ending: str | None
    by: str | None
    point: str | None
    time: int | None
    silence: int | None
    bytes: int | None

    @property
    def cut(self) -> bool:
        """Whether it ended early in a way that a limit can have made."""
        return self.ending in CUT


@dataclass(frozen=True)
class Cluster:
    """Cut streams of one service and provider that ended at the same value of a measure."""

    service: str | None
    provider: str | None
    measure: Measure
    low: int
    high: int
    streams: tuple[str, ...]
    cut: int
    """Cut streams of this service and provider whose measure is known, these included."""
    longer: int
    """Streams of theirs, cut or whole, that went beyond it."""
    endings: tuple[tuple[str, int], ...]
    by: str | None
    point: str | None
    chance: float
    mute: bool = False
    """Whether none of them had an event: their whole time was silence."""
    also: tuple[Measure, float] | None = None
    """Another measure by which they met as well, and where: at an even pace a size is a time."""

    @property
    def at(self) -> float:
        """The value: the middle of the cluster."""
        return (self.low + self.high) / 2

    @property
    def known(self) -> Limit | None:
        """The known limit that it may be; where nothing ever came, one on silence as well."""
        return (near("silence", self.at) if self.mute else None) or near(self.measure, self.at)

    @property
    def place(self) -> str:
        """Where on the way most of them ended."""
        if self.by in _PLACES:
            return _PLACES[self.by]
        point = sc.POINT_LABELS.get(self.point or "")  # type: ignore[call-overload]
        if point is None:
            return "somewhere on the way"
        left = sum(n for ending, n in self.endings if ending in _READER_LEFT)
        if 2 * left > len(self.streams):
            return f"at {point} or behind it, by a client that waited no longer or something on the way to it"
        return f"somewhere before {point}"

    def document(self) -> dict[str, Any]:
        """As JSON, with its sentence."""
        return {
            "service": self.service,
            "provider": self.provider,
            "measure": self.measure,
            "at": self.at,
            "low": self.low,
            "high": self.high,
            "streams": list(self.streams),
            "cut": self.cut,
            "longer": self.longer,
            "endings": dict(self.endings),
            "by": self.by,
            "place": self.place,
            "known": self.known.name if self.known else None,
            "sources": list(self.known.sources) if self.known else [],
            "chance": self.chance,
            "sentence": sentence(self),
        }


def clusters(ended: Iterable[Ended]) -> list[Cluster]:
    """All clusters, the largest first; a stream counts in one of them only."""
    groups: defaultdict[tuple[str | None, str | None], list[Ended]] = defaultdict(list)
    for item in ended:
        groups[item.service, item.provider].append(item)
    found = [cluster for group in groups.values() for cluster in _of_group(group)]
    return sorted(found, key=lambda cluster: (-len(cluster.streams), cluster.service or "", cluster.at))


def _of_group(group: Sequence[Ended]) -> list[Cluster]:
    """A silence from the beginning is a time as well, and fixed answers have both a time and a size: told once."""
    kept: list[Cluster] = []
    told: set[str] = set()
    for measure in MEASURES:
        for cluster in _of_measure(group, measure):
            if 2 * len(told.intersection(cluster.streams)) < len(cluster.streams):
                kept.append(cluster)
                told.update(cluster.streams)
    return kept


def _of_measure(group: Sequence[Ended], measure: Measure) -> Iterator[Cluster]:
    known = [(value, item) for item in group if (value := getattr(item, measure)) is not None]
    pairs = sorted(((value, item) for value, item in known if item.cut), key=lambda pair: (pair[0], pair[1].stream))
    cut = [value for value, _ in pairs]
    whole = sorted(value for value, item in known if not item.cut)
    taken: list[_Window] = []
    for window in sorted(_windows(measure, cut, whole)):
        if len(taken) < _MOST and not any(window.start < other.stop and other.start < window.stop for other in taken):
            taken.append(window)
            longer = len(cut) - window.stop + len(whole) - bisect_right(whole, cut[window.stop - 1])
            members = pairs[window.start : window.stop]
            yield _cluster(measure, members, len(cut), longer, window.chance)


def _cluster(measure: Measure, pairs: Sequence[tuple[int, Ended]], cut: int, longer: int, chance: float) -> Cluster:
    members = [item for _, item in pairs]
    (by, point), _ = Counter((item.by, item.point) for item in members).most_common(1)[0]
    return Cluster(
        service=members[0].service,
        provider=members[0].provider,
        measure=measure,
        low=pairs[0][0],
        high=pairs[-1][0],
        streams=tuple(item.stream for item in members),
        cut=cut,
        longer=longer,
        endings=tuple(Counter(str(item.ending) for item in members).most_common()),
        by=by,
        point=point,
        chance=chance,
        mute=measure == "time" and all(item.silence == item.time for item in members),
        also=_also(measure, members),
    )


def _also(measure: Measure, members: Sequence[Ended]) -> tuple[Measure, float] | None:
    """The time of streams that met by their size, or the other way round, if they met by that, too."""
    other = _OTHER.get(measure)
    values = [getattr(item, other) for item in members] if other is not None else []
    if other is None or any(value is None for value in values):
        return None
    low, high = min(values), max(values)
    share, least = _WIDTHS[other][0]
    return (other, (low + high) / 2) if low >= _LEAST[other] and high - low <= max(share * low, least) else None


class _Window(NamedTuple):
    """Cut streams `start` to `stop` (excluded), in order of a measure; how likely it is that any so many meet."""

    chance: float
    fewer: int
    start: int
    stop: int


def _windows(measure: Measure, cut: Sequence[int], whole: Sequence[int]) -> Iterator[_Window]:
    """Every window that is no accident; of equal chances the one with more streams comes first."""
    for share, least in _WIDTHS[measure]:
        stop = 0
        for start, low in enumerate(cut):
            width = max(share * low, least)
            while stop < len(cut) and cut[stop] <= low + width:
                stop += 1
            k = stop - start
            if low < _LEAST[measure] or k < FEWEST:
                continue
            expected = _expected(low, width, cut, whole)
            chance = len(_WIDTHS[measure]) * len(cut) / k * _tail(k - 1, expected)
            if k >= _TIMES * expected and chance <= CHANCE:
                yield _Window(chance, -k, start, stop)


def _expected(low: float, width: float, cut: Sequence[int], whole: Sequence[int]) -> float:
    """How many cut streams such a window would hold if it were like its surroundings."""
    high, reach = low + width, _FAR * (low + width / 2)
    inside = bisect_right(whole, high) - bisect_left(whole, low)
    near, far = _denser(low, high, _NEAR * width, cut), _denser(low, high, reach, cut)
    return max(
        len(cut) * inside / (len(whole) + 1),
        (near + math.sqrt(near)) / _NEAR,
        (far + 2 * math.sqrt(far) + 2) / max(1.0, reach / width),
    )


def _denser(low: float, high: float, reach: float, values: Sequence[int]) -> int:
    """How many values lie beside the window, at the side where more do."""
    below = bisect_left(values, low) - bisect_left(values, low - reach)
    return max(below, bisect_right(values, high + reach) - bisect_right(values, high))


def _tail(k: int, expected: float) -> float:
    """P(Poisson(expected) ≥ k); 1 where so many are to be expected."""
    if k <= expected:
        return 1.0
    term = math.exp(k * math.log(expected) - expected - math.lgamma(k + 1))
    total = term
    while term > total * 1e-9:
        k += 1
        term *= expected / k
        total += term
    return min(1.0, total)


# --------------------------------------------------------------------------- in words


_WHAT: Final[dict[Measure, str]] = {"time": "time", "silence": "time", "bytes": "size"}


def sentence(cluster: Cluster) -> str:
    """A cluster as a person would tell it."""
    n = len(cluster.streams)
    text = (
        f"{n} of {cluster.cut} cut streams{_whose(cluster)} ended {moment(cluster)}, {cluster.place}: {_kind(cluster)}."
    )
    return text + (f" {_longer(cluster)}" if cluster.measure != "silence" else "")


def _whose(cluster: Cluster) -> str:
    service = f" of service {cluster.service}" if is_named(cluster.service) else ""
    return service + (f" from {cluster.provider}" if cluster.provider else "")


def is_named(label: object) -> bool:
    """OpenTelemetry calls a process that nobody has named `unknown_service`, which is no news to anybody."""
    return bool(label) and not str(label).startswith("unknown_service")


def about(cluster: Cluster, when: str) -> str:
    """The line for one of its streams; `when` says in which time the others were."""
    n = len(cluster.streams) - 1
    whose = "of this service" if is_named(cluster.service) else "like it"
    return f"Cut {moment(cluster)}, as {n} others {whose} {when} were: {_kind(cluster)}."


def moment(cluster: Cluster) -> str:
    """When they ended: `after 60.0 s`, `60.0 s after the last event`, `after 131,072 bytes`."""
    if _either(cluster) and cluster.also is not None:
        time, size = (cluster.at, cluster.also[1]) if cluster.measure == "time" else (cluster.also[1], cluster.at)
        return f"after {time / 1000:.1f} s or about {size:,.0f} bytes"
    if cluster.measure == "bytes":
        return f"after about {cluster.at:,.0f} bytes" if cluster.high > cluster.low else f"after {cluster.low:,} bytes"
    seconds = f"{cluster.at / 1000:.1f} s"
    return f"after {seconds}" if cluster.measure == "time" else f"{seconds} after the last event"


def _either(cluster: Cluster) -> bool:
    """Whether it may be a limit of time or of size; not where one of them is a limit that is known."""
    return cluster.also is not None and cluster.known is None and not cluster.mute


def _kind(cluster: Cluster) -> str:
    known = f" (one such: {cluster.known.name})" if cluster.known else ""
    if _either(cluster):
        return "a limit of one of these on the way; at an even pace it cannot be told which"
    return f"a {_WHAT[cluster.measure]} limit on the way{known}"


def _longer(cluster: Cluster) -> str:
    if not cluster.longer:
        return "None of them went on for longer." if cluster.measure == "time" else "None of them was larger."
    count = f"{cluster.longer} stream{'' if cluster.longer == 1 else 's'}"
    beyond = (
        "went on for longer" if cluster.measure == "time" else "were larger" if cluster.longer > 1 else "was larger"
    )
    return f"{count} of the same {beyond}, so it does not hold on every way."
