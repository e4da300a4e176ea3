"""bench.truth: a small run of the model in which every gate holds, and judges that lie, at whom a gate falls."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from bench.truth import __main__ as command
from bench.truth import mutations as switching
from bench.truth import picture, report
from bench.truth.gates import EXAMPLES, GATES, Gate, Tally
from bench.truth.gates import fallen as fallen_of
from bench.truth.labels import ACTS, Deed, Passage, ambiguous, known_to_feed, lost_run, shared_bits
from bench.truth.loss import LOSSES
from bench.truth.mutations import Tried, missed_at, without
from bench.truth.rules import mutations
from bench.truth.run import settled, some, tally, verdict_on
from bench.truth.score import Score, score
from bench.truth.scoring.difference import Difference
from bench.truth.streams import SORTS, named, trial
from streamwitness_analyzer.vocabulary import KINDS

SEEDS = range(193, 423)
"""The first seeds in a row of which so few hold every sort."""
Verdict = dict[str, Any]


@pytest.fixture(scope="module")
def small() -> Tally:
    """A small run."""
    return tally(map(trial, SEEDS), some)


def fallen(judge_it: Callable[[Any], Verdict], streams: int = 60, loss: str = "none") -> set[str]:
    """The gates that a judge falls at."""
    found = tally(map(trial, range(streams)), lambda _: (loss,), judge_it)
    return {gate.name for gate in fallen_of(found)}


NAMES = {gate.figure: gate.name for gate in GATES}
CERTAIN, BLAME, FOUND, SUSPECTED, HEALTHY, ENDED = map(
    NAMES.get, ("certain", "blame", "found", "named", "healthy", "ended")
)
MAKER, SAID, CALLED, SAME, COUNTED, PLACED = map(NAMES.get, ("maker", "said", "called", "same", "counted", "placed"))


def test_every_gate_holds(small: Tally) -> None:
    """On streams of every sort, with and without telemetry loss."""
    assert [gate.document(small) for gate in fallen_of(small)] == []


def test_parts_add_up_to_the_whole(small: Tally) -> None:
    """Processes count apart, and nothing is lost between them."""
    both = Tally()
    for first, part in ((0, SEEDS[:100]), (100, SEEDS[100:])):
        both.join(tally(map(trial, part), lambda number, first=first: some(first + number)))  # type: ignore[misc]
    assert both == small


def test_every_sort_of_stream_is_among_them() -> None:
    """A small run leaves no sort out."""
    assert {trial(seed).name.split("/")[1] for seed in SEEDS} == {sort for sort, (_, often) in SORTS.items() if often}


def test_a_seed_makes_the_same_stream_ever_again() -> None:
    """A stream that is printed with its seed can be looked at."""
    for seed in range(30):
        one, two = trial(seed), trial(seed)
        assert (one.deeds, one.passages, one.ended, one.blocks) == (two.deeds, two.passages, two.ended, two.blocks)


# --------------------------------------------------------------------------- judges that lie


def accusing(blocks: Any) -> Verdict:
    """Accuses the transport of every stream that is in order."""
    verdict = deepcopy(settled(blocks))
    if not verdict["findings"]:
        false = {"kind": "gap", "suspects": ["transport"], "confidence": "certain", "count": 1, "exact": True,
                 "sequence": [0, 0], "about": False, "between": ["egress", "wire"],
                 "proof": {"case": "totals"}}  # fmt: skip
        verdict["findings"].append(false)
    return verdict


def blind(blocks: Any) -> Verdict:
    """Finds nothing."""
    return settled(blocks) | {"findings": []}


def suspecting(blocks: Any) -> Verdict:
    """Suspects those that did not do it."""
    verdict = deepcopy(settled(blocks))
    for finding in verdict["findings"]:
        others = {"gateway", "transport", "parser", "reducer"} - set(finding["suspects"])
        finding |= {"suspects": sorted(others), "confidence": "narrowed"}
    return verdict


def elsewhere(blocks: Any) -> Verdict:
    """Says that every stream ended otherwise, and by whom."""
    verdict = settled(blocks)
    return verdict | {"ending": verdict["ending"] | {"class": "gateway_shutdown", "by": "gateway"}}


def miscounting(blocks: Any) -> Verdict:
    """Counts one too many."""
    verdict = deepcopy(settled(blocks))
    for finding in verdict["findings"]:
        finding["count"] += 1
    return verdict


def vague(blocks: Any) -> Verdict:
    """Never counts exactly, and finds everything anywhere."""
    verdict = deepcopy(settled(blocks))
    for finding in verdict["findings"]:
        finding |= {"exact": False, "about": True, "sequence": [0, 10_000]}
    return verdict


def content(blocks: Any) -> Verdict:
    """Calls everything intact."""
    return settled(blocks) | {"integrity": "intact"}


def otherwise(blocks: Any) -> Verdict:
    """Says of a loss that something was added."""
    verdict = deepcopy(settled(blocks))
    for finding in verdict["findings"]:
        finding["kind"] = {"gap": "duplicate", "tail": "fabricated", "duplicate": "gap"}.get(
            finding["kind"], finding["kind"]
        )
    return verdict


def failing(_blocks: Any) -> Verdict:
    """Has no verdict at all."""
    raise LookupError("no verdict")


def misnaming(kind: str) -> Callable[[Any], Verdict]:
    """Says of every gap, change and delay that it was something else of which there is no trace."""

    def judge_it(blocks: Any) -> Verdict:
        verdict = deepcopy(settled(blocks))
        for finding in verdict["findings"]:
            finding["kind"] = kind if finding["kind"] in ("gap", "tail", "altered", "delayed") else finding["kind"]
        return verdict

    return judge_it


@pytest.mark.parametrize(
    ("judge_it", "falls"),
    [
        *((misnaming(kind), {SAID}) for kind in ("cross_stream", "misapplied", "after_terminal", "malformed")),
        (accusing, {CERTAIN, BLAME, HEALTHY}),
        (blind, {FOUND}),
        (suspecting, {BLAME, SUSPECTED, FOUND}),
        (elsewhere, {ENDED, MAKER}),
        (miscounting, {SAID}),
        (vague, {COUNTED, PLACED}),
        (content, {CALLED}),
        (otherwise, {SAID}),
        (failing, {SAME}),
    ],
)
def test_a_judge_that_lies_falls_at_a_gate(judge_it: Callable[[Any], Verdict], falls: set[str]) -> None:
    """The bench would notice: each sort of lie makes the gates fall that are there for it."""
    assert falls <= fallen(judge_it)


def test_lost_records_excuse_no_blame_in_the_ending() -> None:
    """Who is said to have ended a stream did so, with few records as with all; nobody may be named at any time."""
    assert MAKER in fallen(elsewhere, loss="30 %")
    one = next(one for one in map(trial, range(1000)) if one.ended.by == "client")
    for by, wrong in (("client", False), (None, False), ("transport", True)):
        told = settled(one.blocks)
        told |= {"ending": told["ending"] | {"class": "unwitnessed", "by": by}}
        assert bool(score(one, told, whole=False).wrong) is wrong


def test_what_a_client_that_came_back_lost_is_counted_once() -> None:
    """Neither more than all connections lost, nor less than what none of them brought."""
    resumed = (named(f"model/resumed/{seed}") for seed in range(100))
    one = next(one for one in resumed if [deed.act for deed in one.deeds] == ["cut", "drop"] and one.passages[0].again)
    told = settled(one.blocks)
    (finding,) = told["findings"]
    lost = Difference.of(one.passages[0]).lost
    for count, wrong in ((lost - one.passages[0].again - 1, True), (finding["count"], False), (lost + 1, True)):
        worth = score(one, told | {"findings": [finding | {"count": count}]}, whole=True)
        assert ("said" in {what for what, _ in worth.false}) is wrong


def test_who_only_held_events_back_is_accused_of_nothing_else() -> None:
    """A deed that leaves the events as they were bears out no kind of damage, and neither does another one's."""
    one = next(one for one in map(trial, range(1000)) if [d.act for d in one.deeds] == ["drop"] and one.honest)
    told = deepcopy(settled(one.blocks))
    late = replace(
        one, deeds=(Deed("transport", "delay", (1,)),), passages=tuple(replace(p, after=p.before) for p in one.passages)
    )
    false = accusing(one.blocks[:0])["findings"][0]
    for kind, wrong in (("altered", True), ("delayed", False)):
        worth = score(late, told | {"findings": [false | {"kind": kind}], "integrity": "unproven"}, whole=False)
        assert any("is said to have done" in one for one in worth.wrong) is wrong


def test_a_gate_with_nothing_to_look_at_does_not_hold() -> None:
    """A bench that tried nothing has shown nothing."""
    assert fallen_of(Tally()) == [*GATES]
    for found, holds in ((99, True), (98, False)):
        some_found = Tally(counts=Counter({("sure", "none", True): found, ("sure", "none", False): 100 - found}))
        assert Gate("", "sure", 0.99).holds(some_found) is holds


@pytest.mark.parametrize("rule", ["7.1 accountability", "7.2 rule 7", "7.2 gateway excused: same_content"])
def test_a_rule_that_is_switched_off_is_missed(rule: str) -> None:
    """Some of the mutations; `python -m bench.truth --mutations` tries them all."""
    assert missed_at(next(m for m in mutations() if m.rule.startswith(rule)), 250)


def test_every_rule_that_is_switched_off_is_there() -> None:
    """A rule of another name would be switched off by nobody; and in the end it is on again."""
    for mutation in mutations():
        with without(mutation):
            pass
    assert verdict_on(trial(3), "none")[1].wrong == []


def test_streams_and_losses_that_a_rule_asks_for_are_there() -> None:
    """Else it would be tried on others; and no two rules are called the same."""
    every = mutations()
    assert {sort for mutation in every for sort in mutation.sorts} <= SORTS.keys()
    assert {loss for mutation in every for loss in mutation.losses} <= LOSSES.keys()
    assert len({mutation.rule for mutation in every}) == len(every)


# --------------------------------------------------------------------------- labels


def test_every_act_is_told_by_kinds_that_there_are() -> None:
    """The table of acts uses the words of findings."""
    assert {kind for kinds in ACTS.values() for kind in kinds} <= set(KINDS)
    with pytest.raises(ValueError, match="unknown act 'lose'"):
        Deed("transport", "lose", (1,))


@pytest.mark.parametrize(
    ("before", "after", "run", "several"),
    [
        ("abcd", "acd", (1, 1), False),
        ("abcd", "ab", (2, 3), False),
        ("abbd", "abd", None, True),
        ("abab", "ab", None, True),
        ("abcd", "abcd", None, False),
        ("abcd", "badc", None, False),
        ("abcd", "abccd", None, True),
    ],
)
def test_where_it_was_lost_is_a_label_only_if_it_can_be_known(
    before: str, after: str, run: tuple[int, int] | None, several: bool
) -> None:
    """Of equal neighbours, which one is gone nobody knows."""
    passage = Passage("transport", tuple(before), tuple(after))
    assert (lost_run(passage), ambiguous(passage)) == (run, several)


def test_a_few_common_words_are_no_proof_that_an_answer_is_this_one() -> None:
    """A gateway that writes anew is known by a run that says much; one that hands on bytes by any event of it."""
    few = Passage("gateway", ("a", "a", "b", "0/finish:stop"), ("a", "a", "0/finish:stop"))
    many = Passage("gateway", tuple(map(str, range(40))), tuple(map(str, range(39))))
    assert shared_bits(few) < 5
    assert shared_bits(many) > 200
    assert not known_to_feed("reprint", "openai_chat", few)
    assert known_to_feed("pass", "openai_chat", few)
    assert known_to_feed("translate", "openai_chat", many)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lossy_delivery_is_the_same_ever_again(loss: str) -> None:
    """What is lost depends on the stream's name alone."""
    assert verdict_on(trial(3), loss)[0] == verdict_on(trial(3), loss)[0]


# --------------------------------------------------------------------------- what it prints


def test_a_run_is_printed_as_text_json_and_a_picture(small: Tally) -> None:
    """Each gate has its line, each sort of loss its bar."""
    lines = "\n".join(report.text(small))
    assert lines.count("green") == len(GATES)
    known = report.document(small, command="this")
    assert json.loads(json.dumps(known)) == known
    drawn = picture.drawn(small)
    assert [loss for loss in LOSSES if f">{loss}</text>" not in drawn] == []
    assert not re.search("script|href", drawn)


def test_a_run_is_kept_as_it_was_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Tally, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that makes it again, its figures and its picture."""
    monkeypatch.setattr(command, "simulated", lambda *_: small)
    asked = ["--simulate", "180", "--sockets", "0", "--first", "0"]
    assert command.main([*asked, "--results", str(tmp_path / "kept")]) == 0
    kept = (tmp_path / "kept" / "RESULTS.md").read_text()
    assert capsys.readouterr().out.rstrip() in kept
    assert f"`python -m bench.truth {' '.join(asked)}` at " in kept
    assert "\n![found and cleared, by telemetry loss](truth.svg)\n" in kept
    assert json.loads((tmp_path / "kept" / "results.json").read_text())["streams"] == small.streams
    assert (tmp_path / "kept" / "truth.svg").read_text() == picture.drawn(small)
    (readme,) = re.findall(r"\[bench/README.md\]\((.*)#", kept)
    assert (tmp_path / "kept" / readme).samefile("bench/README.md")


def test_one_stream_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Its deeds, and the verdict as people read it."""
    assert command.main(["--only", "3"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(trial(3).name)
    assert "nothing is wrong with it" in printed


@pytest.mark.parametrize("judge_it", [accusing, blind, suspecting, elsewhere, miscounting, vague, content, failing])
def test_each_red_gate_names_its_streams(judge_it: Callable[[Any], Verdict]) -> None:
    """What is said of one verdict is what a run of that verdict alone would fall at; and it is printed to be called."""
    found = tally(map(trial, range(20)), lambda _: ("none", "disordered"), judge_it)
    lines = [*report.text(found)]
    for gate in (gate for gate in fallen_of(found) if gate.of_each and found.rate(gate.figure).missed):
        at = next(at for at, line in enumerate(lines) if line.startswith(f"RED    {gate.name}: "))
        printed = list(takewhile(lambda line: line.startswith("       --only "), lines[at + 1 :]))
        named_streams = [line.split()[1] for line in printed]
        assert len(set(named_streams)) == len(named_streams) <= EXAMPLES
        assert named_streams
        assert printed[0].split(" --loss ")[1].startswith(found.against[gate.name][named_streams[0]][0])


def test_one_stream_says_which_gate_it_counts_against(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside what is wrong with it, by the name under which the run prints the gate."""
    one = next(one for one in map(trial, range(20)) if one.ended.ending)
    monkeypatch.setattr(command, "verdict_on", lambda it, loss: verdict_on(it, loss, elsewhere))
    assert command.main(["--only", one.name]) == 1
    assert f"counts against the gate: {ENDED}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["model/99999999999", "model/foo/3", "no/such/stream"])
def test_a_name_of_no_stream_is_told_what_names_there_are(name: str) -> None:
    """Instead of a traceback."""
    with pytest.raises(SystemExit, match=f"no stream is called '{name}'"):
        command.main(["--only", name])


def test_mutations_say_how_far_they_are_and_what_was_caught(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number before each, and all of them at the end."""
    some_of_them = mutations()[:2]
    monkeypatch.setattr(switching, "mutations", lambda: some_of_them)
    shown = {some_of_them[0].rule: "a gate falls: it"}
    monkeypatch.setattr(switching, "tried", lambda one, *_: Tried(one.rule, shown.get(one.rule, ""), 7, 2))
    assert switching.main(1, 0) == 1
    first, second, total = capsys.readouterr().out.splitlines()
    assert first == f"1/2  caught      {some_of_them[0].rule}: a gate falls: it"
    told = "2 of 7 verdicts read otherwise, and none is wrong or says less"
    assert second == f"2/2  NOT CAUGHT  {some_of_them[1].rule}: {told}"
    assert re.fullmatch(r"1 of 2 caught in .+ minutes: 1 by a gate that falls, 0 by a smaller figure", total)


def test_mutations_can_be_tried_one_by_one() -> None:
    """By a part of a rule's name; where there is none, that is said instead of a traceback."""
    assert [mutation.rule for mutation in switching.chosen("rule 1: EQUAL")] == [
        "7.2 rule 1: equal counts and sums are intact"
    ]
    with pytest.raises(SystemExit, match="no rule is called 'rule 77'"):
        switching.chosen("rule 77")


def test_a_mutation_is_told_by_the_gate_that_falls_or_else_by_the_figure() -> None:
    """What is said falsely is apart from what is said no more."""
    good = Score(outcomes={"transport": "found"})
    false = Score(outcomes={"transport": "found"}, false=[("blame", "so")])
    assert switching.less_worth(good, false, "none") == f"a gate falls ({BLAME}): so"
    assert switching.less_worth(good, Score(outcomes={"transport": "unknown"}), "5 %").startswith(
        "a figure gets smaller"
    )
    assert switching.less_worth(good, good, "none") == ""


def test_a_run_whose_gates_do_not_hold_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """Two streams are not enough for every gate."""
    assert command.main(["--simulate", "2", "--sockets", "0", "--workers", "1"]) == 1
    assert "RED" in capsys.readouterr().out
