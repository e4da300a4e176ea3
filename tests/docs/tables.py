"""The tables in the documentation that come from the code.

Renew them after a wanted change:  python -m tests.docs.tables
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from bench.truth import gates, score
from streamwitness import semconv as sc
from streamwitness.cli import build_parser, discover
from streamwitness.runtime import ClientSettings
from streamwitness.semconv import Point
from streamwitness.settings import Option, options
from streamwitness_analyzer.counting import METRICS
from streamwitness_analyzer.judge.compare.change import CASES
from streamwitness_analyzer.judge.ending import endings
from streamwitness_analyzer.judge.telling import words
from streamwitness_analyzer.metrics import GAUGES
from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style
from streamwitness_analyzer.vocabulary import ENDINGS, KINDS
from streamwitness_collector.metrics import OUTCOMES, Metrics
from streamwitness_collector.otlp import REASONS
from tests.docs import examples, profiles
from tests.docs.markdown import ROOT, files, generated, renewed, table, ticks
from tests.docs.setups import FAULTS, SETUPS, cell, knowledge, verdict

GOLDEN: Final = ROOT / "tests" / "e2e" / "golden" / "parser_splits.json"
SHOWN: Final = "71c09b2e4f0d4c6a8e1b5d7f3a926c84"
"""Stands for the stream's id in the report that README shows."""


def _show() -> str:
    """`streamwitness show` of the demo's stream whose parser splits at U+2028."""
    document = json.loads(GOLDEN.read_text()) | {"stream": SHOWN}
    report = render(document, Style(colour=False, width=100, ascii=False))
    return f"```text\n$ streamwitness show {SHOWN[:4]} --database streamwitness.db\n{report}\n```\n"


# --------------------------------------------------------------------------- what one can know


def _knowledge() -> str:
    return table(
        ("what you install", "proven, with who did it", "seen, but not who did it", "not seen at all"),
        [(name, *(_listed(faults) for faults in knowledge(name))) for name in SETUPS],
    )


def _listed(faults: Iterable[str]) -> str:
    return "; ".join(faults) or "–"


def _matrix() -> str:
    rows = [[fault, *(cell(verdict(setup, fault)) for setup in SETUPS)] for fault in FAULTS]
    return table(("what is broken", *SETUPS), rows)


# --------------------------------------------------------------------------- words of a verdict


def _points() -> str:
    rows = [(f"`{p}`", sc.POINT_LABELS[p], sc.COMPONENT_BEFORE.get(p, "–"), _role(p)) for p in sc.POINTS]
    return table(("point", "shown as", "what lies before it", "testified by"), rows)


def _role(point: sc.Point) -> str:
    return next(role for role, points in sc.ROLE_POINTS.items() if point in points)


def _endings() -> str:
    return table(("gateway in", "gateway out", "client", "ending", "by", "reason"), map(_row, endings.ROWS))


def _row(row: endings.Row) -> tuple[str, ...]:
    ending = f"`{row.ending}`" if row.ending else "not ended yet"
    return _any(row.ingress), _any(row.egress), _any(row.client), ending, row.by or "–", row.reason


def _any(states: str) -> str:
    return ticks(states.split()) or "any"


_STATES: Final = {
    "complete": "the whole answer, by the provider's own rule",
    "error": "an error event came and ended it, or a finish that is an error",
    "error_unseen": "so it did, and whether the gateway had sent that one is not known",
    "cut": "a clean end before the answer was complete",
    "eof": "the same, of an answer that the gateway or the client saw end",
    "unfinished": "the terminator came, and no finish before it",
    "misframed": "the body was not what it was announced as, or broke its format",
    "broken": "the connection was reset, or the body broke off",
    "reset": "the connection was reset",
    "protocol_error": "the body broke off against HTTP",
    "timeout": "who reads here waited no longer",
    "stopped": "the gateway let go of its upstream",
    "rejected": "the upstream answered with an error status",
    "unfed": "of nothing that the gateway read it is known that this answer is made of it",
    "disconnected": "the gateway saw its client go",
    "raised": "the gateway's code raised",
    "shutdown": "the gateway's server was stopped",
    "cancelled": "the client's code cancelled",
    "abandoned": "the client's code left the answer unread",
    "parser": "the client's parser raised",
    "reducer": "the application's own code raised",
    "parser_unseen": "so it did, and it may have been given an error or a broken body",
    "reducer_unseen": "the same",
    "stalled_source": "a long silence, then a timeout: nothing more came into the gateway",
    "stalled_gateway": "the same: the gateway had more, and sent nothing",
    "stalled_transport": "the same: what the gateway had sent did not arrive",
    "no_first_source": "these three before the first event",
    "no_first_gateway": "",
    "no_first_transport": "",
    "failed": "reading failed, by an error that does not say whether the client or the network stopped",
    "missing": "it said that it would testify, and its record never came",
    "waiting": "the same, and its record may still come",
    "none": "no record, or none of which it is sure that it is about this answer",
}
"""Word of the endings table → what was seen; one without words is told by the one before it."""


def _states() -> str:
    used = {state for states in (endings.INGRESS, endings.EGRESS, endings.CLIENT) for state in states}
    if used != set(_STATES):
        raise ValueError(f"states of the endings table that are not explained, or are none: {used ^ set(_STATES)}")
    grouped: list[tuple[list[str], str]] = []
    for state, text in _STATES.items():
        if text:
            grouped.append(([], text))
        grouped[-1][0].append(state)
    return table(("word", "what was seen"), [(ticks(states), text) for states, text in grouped])


def _classes() -> str:
    reached = {row.ending for *_, row in endings.table()}
    rows = [
        (f"`{name}`", f"`{group}`", words.ENDED[name] if name in reached else "not concluded yet")
        for name, group in ENDINGS.items()
    ]
    return table(("ending", "group", "in a list"), rows)


def _kinds() -> str:
    rows = [(f"`{kind}`", *(_kind(kind) if kind in words.VERBS else ("–", "not concluded yet"))) for kind in KINDS]
    return table(("kind", "what the component did", "the sentence, here of two points on the way"), rows)


def _kind(kind: str) -> tuple[str, str]:
    had, came = _BETWEEN.get(kind, ("egress", "wire"))
    blanks = {name: f"{{{name}}}" for name in ("count", "first", "it", "note")} | {"hidden": words.HIDDEN[0]}
    sentence = words.EXPLAINED[kind].format(**words.told_between(had, came), **blanks)
    return words.VERBS[kind].format(what="…"), sentence[0].upper() + sentence[1:]


_BETWEEN: Final[dict[str, tuple[Point, Point]]] = {
    "delayed": ("ingress", "egress"),
    "upstream_kept_running": ("ingress", "egress"),
}
"""Between which points the sentence of a kind is shown, where not on the way to the client."""


def _notes() -> str:
    return table(("note", "the sentence"), [(f"`{kind}`", text) for kind, text in words.NOTES.items()])


def _proofs() -> str:
    return table(("proof", "what holds"), [(f"`{case}`", text) for case, text in CASES.items()])


# --------------------------------------------------------------------------- reference


def _client() -> str:
    rows = [
        (f"`{o.name}`", f"`{o.variable}`", _default(o), o.help.replace("*", "\\*")) for o in options(ClientSettings)
    ]
    return table(("argument of `configure()`", "variable", "default", "meaning"), rows)


def _commands() -> str:
    return "\n".join(_command(entry.name) for entry in discover())


def _command(name: str) -> str:
    parser = parser_of(name)
    entry = next(entry for entry in discover() if entry.name == name)
    if entry.command is None:
        raise RuntimeError(f"{name} {entry.problem}: install streamwitness[all]")
    known = {o.flag: o for o in options(entry.command.settings)} if entry.command.settings else {}
    rows = [_option(action, known) for action in parser._actions if action.dest != "help"]
    return f"### `streamwitness {name}`\n\n{_sentence(entry.command.help)}\n\n" + table(
        ("option", "variable", "default", "meaning"), rows
    )


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    (commands,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    found: argparse.ArgumentParser = commands.choices[name]
    return found


def _option(action: argparse.Action, known: dict[str, Option]) -> tuple[str, str, str, str]:
    flag = action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)
    if option := known.get(flag):
        return f"`{flag}`", f"`{option.variable}`", _default(option), option.help
    return f"`{flag}`", "", "", (action.help or "").replace("%%", "%")


def _default(option: Option) -> str:
    return f"`{option.default_text}`" if option.default_text else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _metrics() -> str:
    rows = [(f"`{m.name}`", ticks(m.labels or next(iter(m.sets), ())), m.help) for m in METRICS]
    labels = {"streams": ("state",), "stream_watermark_seconds": ("topic", "partition")}
    rows += [(f"`{name}`", ticks(labels.get(name, ())), text) for name, text in GAUGES.items()]
    return table(("metric", "labels", "meaning"), rows)


def _collector_metrics() -> str:
    rows = []
    for family in Metrics().registry.collect():
        name = family.name + ("_total" if family.type == "counter" else "")
        label = next((tuple(sample.labels) for sample in family.samples), ())
        rows.append((f"`{name}`", ticks(label), family.documentation))
    return table(("metric", "labels", "meaning"), rows)


def _outcomes() -> str:
    return table(("outcome", "meaning"), [(f"`{name}`", text) for name, text in OUTCOMES.items()])


def _reasons() -> str:
    return table(("reason", "meaning"), [(f"`{name}`", text) for name, text in REASONS.items()])


def _outcomes_of_truth() -> str:
    return table(
        ("column", "the component of this hop is"), [(f"`{name}`", text) for name, text in score.OUTCOMES.items()]
    )


def _gates_of_truth() -> str:
    return table(("gate", "at least"), [(gate.name, f"{100 * gate.least:.4g} %") for gate in gates.GATES])


GENERATORS: Final[dict[str, Callable[[], str]]] = {
    "show": _show,
    "knowledge": _knowledge,
    "matrix": _matrix,
    "points": _points,
    "endings": _endings,
    "classes": _classes,
    "kinds": _kinds,
    "notes": _notes,
    "client": _client,
    "commands": _commands,
    "metrics": _metrics,
    "collector_metrics": _collector_metrics,
    "outcomes": _outcomes,
    "reasons": _reasons,
    "outcomes_of_truth": _outcomes_of_truth,
    "gates_of_truth": _gates_of_truth,
    "profiles": profiles.profiles,
    "profile_details": profiles.details,
    "proofs": _proofs,
    "examples": examples.examples,
    "examples_of_endings": examples.endings,
    "examples_of_doubt": examples.sure,
    "states": _states,
    "envelope_kinds": profiles.kinds,
    "envelope_problems": profiles.problems,
}
"""Name of a generated part → what makes it."""


def write() -> list[str]:
    """Renew every generated part; the files that changed."""
    changed = []
    for path in files():
        text = path.read_text()
        if names := generated(text).keys():
            new = renewed(text, {name: GENERATORS[name]() for name in names})
            if new != text:
                path.write_text(new)
                changed.append(str(path.relative_to(ROOT)))
    return changed


def main(*_: Any) -> int:
    """Renew, and say what changed."""
    print("\n".join(write()) or "everything is current")
    return 0


if __name__ == "__main__":
    sys.exit(main())
