"""bench.truth.sockets: a small part of the matrix over real sockets, in which nothing is left out."""

from __future__ import annotations

from dataclasses import fields

import pytest

from bench.truth.run import settled
from bench.truth.score import score
from bench.truth.sockets import coverage, matrix
from bench.truth.sockets.acts import answer
from bench.truth.sockets.bodies import FRAMING, PLAIN, Framer, Splitter
from bench.truth.sockets.clients import FORMATS
from bench.truth.sockets.edits import EDITS, deed_of
from bench.truth.sockets.faults import PLACES, TABLE, Fault
from bench.truth.sockets.parsers import PARSERS
from bench.truth.sockets.possible import possible
from bench.truth.sockets.readers import acts_of, tokens
from bench.truth.sockets.run import run
from bench.truth.sockets.scenario import Scenario, events
from bench.truth.sockets.situations import ON_PURPOSE, UNASKED
from bench.truth.sockets.works import honest
from streamwitness.semconv import COMPONENTS

SEED = 0


@pytest.fixture(scope="module")
def whole():
    """The whole matrix, not run."""
    return matrix.matrix(SEED)


@pytest.fixture(scope="module")
def chosen():
    """The reduced matrix."""
    return matrix.reduced(SEED)


@pytest.fixture(scope="module")
def trials(chosen):
    """The reduced matrix, run once."""
    return list(run(chosen))


def choices(scenarios):
    """What these scenarios differ in, but for the words, how they are written down, and processes of their own."""
    names = {field.name for field in fields(Scenario)} - {"faults", "answer", "style", "process"}
    scenarios = list(scenarios)
    single = {(name, getattr(scenario, name)) for scenario in scenarios for name in names}
    return single | {(fault.component, fault.how) for scenario in scenarios for fault in scenario.faults}


def test_the_reduced_matrix_leaves_nothing_out(chosen, whole):
    """Every fault, provider, gateway, client, stop, situation and defective parser is in the small part."""
    assert choices(scenario for scenario in whole if not scenario.process) - choices(chosen) == set()
    assert len(chosen) <= matrix.REDUCED


def test_there_are_enough_faults(whole):
    """At least 24 faults, at least four for each component, and each is in the matrix, or made on request."""
    every = whole
    tried = {(fault.component, fault.how) for scenario in every for fault in scenario.faults}
    assert tried == {(component, how) for component in COMPONENTS for how in TABLE[component]}
    assert len(tried) >= 24
    assert [component for component in COMPONENTS if len(TABLE[component]) < 4] == []


def test_the_matrix_tries_what_it_is_to_try(whole):
    """Each provider, gateway, client, place and length has its streams, numbered ones and half seen ones, too."""
    names = {}
    for (what, name), count in coverage.counted(whole).items():
        names.setdefault(what, set()).update({name} if count >= 5 else ())
    assert names["provider"] >= {"openai_chat", "openai_responses", "anthropic", "gemini", "ollama"}
    assert names["gateway"] >= {"pass", "reprint", "translate", "buffer", "failover", "two in a row"}
    assert names["client"] >= {"httpx", "openai", "anthropic", "genai"}
    assert names["faults of parser"] >= {*PARSERS} - {""}
    assert names["place"] == {*PLACES}
    assert names["events in a row"] == {"1", "3", "20"}
    assert names["numbered"] >= {"no", "id", "field"}
    assert names["instrumented"] == {"both", "client", "gateway", "no_ingress", "vanished"}
    assert names["done"] == {"nothing", "one fault", "two faults at once"}


def test_a_stream_is_found_by_its_name_whatever_the_seed_was():
    """Two faults that another seed brought together, too; what there is not is none."""
    pairs = [scenario for scenario in matrix.matrix(7) if len(scenario.faults) == 2]
    for scenario in [*pairs, *matrix.reduced(SEED), *matrix.select(limit=300, seed=7)]:
        assert matrix.called(scenario.name) == scenario
    other = "openai_chat/plain/pass/httpx/transport.drop@middle"
    for name in (f"{other}/transport.lose@middle", f"{other}/source.drop@nowhere", f"{other}/parser", "no/such/stream"):
        with pytest.raises(LookupError, match="no stream is called"):
            matrix.called(name)


@pytest.mark.parametrize("seed", range(3))
def test_of_those_that_are_drawn_a_third_is_healthy(seed):
    """Whatever the seed, and however many."""
    for many in (30, 300, 3000):
        drawn = coverage.counted(matrix.select(limit=many, seed=seed))
        assert drawn["done", "nothing"] >= many / 3


def test_every_client_meets_an_event_that_nobody_can_read(whole):
    """Broken by the provider, the gateway or the network; the SDKs' own parsers raise at it."""
    met = {(scenario.client, fault.component) for scenario in whole if scenario.unreadable for fault in scenario.faults}
    for client in ("httpx", *FORMATS):
        assert {(client, who) for who in ("source", "gateway", "transport")} <= met


def test_nobody_innocent_is_accused_and_every_ending_is_right(trials):
    """With all telemetry there, nothing that the verdicts say is false."""
    wrong = {}
    for trial in trials:
        worth = score(trial, settled(trial.blocks), whole=True)
        ending = [] if worth.ending is None or worth.ending[0] == worth.ending[1] else [worth.ending]
        if worth.wrong or ending:
            wrong[trial.name] = [*worth.wrong, *ending]
    assert wrong == {}


def test_each_point_that_is_instrumented_testifies(trials):
    """The blocks of a stream are those of its points, each with one closing block."""
    for trial in trials:
        assert {block.point for block in trial.blocks} == trial.points, trial.name
        closing = [block.recorder for block in trial.blocks if block.final]
        assert len(closing) == len(set(closing)) == len({block.recorder for block in trial.blocks}), trial.name


def test_deeds_are_written_where_they_are_done(trials, chosen):
    """Nobody writes down a deed but those that the scenario has broken, in whichever stream."""
    scenarios = {scenario.name: scenario for scenario in chosen}
    for trial in trials:
        name, _, other = trial.name.partition("#")
        scenario = scenarios[name].neighbour if other else scenarios[name]
        broken = {fault.component for fault in scenario.faults}
        broken |= {"parser"} if scenario.parser else set()
        broken |= {"gateway"} if scenario.gateway == "read_on" or scenario.edits else set()
        assert trial.guilty <= broken, trial.name


@pytest.mark.parametrize("provider", FRAMING)
@pytest.mark.parametrize("name", ["plain", "tools", "reasoning", "unicode"])
def test_what_is_written_is_read_again(provider, name):
    """The bench's own readers find in a provider's events the words that its writer was given, however they are cut."""
    framer, splitter = Framer(FRAMING[provider], PLAIN), Splitter(FRAMING[provider])
    body = b"".join([*(framer.frame(event) for event in events(provider, name)), framer.end()])
    back = [event for at in range(len(body)) for event in splitter.feed(body[at : at + 1])]
    assert tokens(provider, back) == tokens(provider, events(provider, name))
    said = "".join(act.text for event in back for act in acts_of(provider, event.data) if act.kind == "text")
    assert said == "".join(act.text for act in answer(name) if act.kind == "text")


@pytest.mark.parametrize("provider", FRAMING)
def test_edits_do_what_they_are_called(provider):
    """Joined texts are the same text in fewer events, reworded ones as many other ones; a filter leaves some out."""
    whole = [act.text for act in answer("plain") if act.kind == "text"]
    said = {name: _texts(Scenario(provider, edits=name)) for name in EDITS}
    assert said[""] == whole
    assert "".join(said["join"]) == "".join(whole)
    assert len(said["join"]) < len(whole)
    assert said["reword"] == [text.upper() for text in whole]
    assert said["filter"] == [text for number, text in enumerate(whole, 1) if number % 3]


def _texts(scenario):
    acts = [act for event in honest(scenario) for act in acts_of(scenario.out, event.data)]
    return [act.text for act in acts if act.kind == "text" and act.text]


def test_only_what_nobody_was_told_of_is_a_deed():
    """A declared edit is none, and neither is a merge; the same undeclared, or declared as another, is."""
    assert [deed_of(edits, said) for edits, said in ON_PURPOSE] == [None] * len(ON_PURPOSE)
    assert {deed_of(edits, said) for edits, said in UNASKED} == {"drop", "alter"}


def test_a_scenario_without_its_place_is_no_scenario():
    """A fault at a terminator is not tried where the format has none."""
    assert not possible(Scenario("gemini", faults=(Fault("transport", "drop", "terminator"),)))
    assert possible(Scenario("openai_chat", faults=(Fault("transport", "drop", "terminator"),)))
