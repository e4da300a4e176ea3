"""The contract of the store, held against SQLite and PostgreSQL alike."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from streamwitness import semconv as sc
from streamwitness_analyzer.filters import Filter, parse
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import ForeignTablesError, Move, Received, Seen, Store, Superseded, queries
from streamwitness_analyzer.store.schema import streams, verdicts
from tests.analyzer.kit import SECOND, START, PlainJudge, block, stream_id


def filled(store: Store, count: int = 5) -> None:
    """Streams 1 … count, a second apart; the odd ones lost an event."""
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: START)
    for n in range(1, count + 1):
        at = START + n * SECOND
        got = block(n, "wire", rows=3 - n % 2, final=True)
        steps.ingest([Received(block(n, "egress", rows=3, final=True), at), Received(got, at)])


def ids(page: queries.Page) -> list[int]:
    return [int(row["stream"], 16) for row in page.rows]


def ask(store: Store, **parameters: str) -> queries.Page:
    with store.read() as connection:
        return queries.page(connection, parse(parameters.items(), START + 10 * SECOND))


def test_creating_twice_is_harmless(store: Store) -> None:
    """Several analyzers make the tables when they start."""
    store.create()
    filled(store, 1)
    store.create()
    assert ids(ask(store)) == [1]


def test_tables_of_another_version_are_refused(store: Store) -> None:
    """Writing into them would fail with every batch; the column that is missing is named, and what to do."""
    with store.engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE streams DROP COLUMN excess"))
    with pytest.raises(ForeignTablesError, match=r"lacks streams\.excess; name a new database"):
        store.create()


def test_a_block_comes_back_as_it_was_stored(store: Store) -> None:
    """Every field, role and resource included."""
    kept = block(7, "wire", final=True, role="client", resource={"service.name": "shop"}, legs=("a" * 16,))
    with store.write() as transaction:
        transaction.lock_seen({kept.stream: Seen(1, 1)})
        assert transaction.insert_blocks([Received(kept, 5)]) == {kept.stream}
        assert transaction.blocks_of([kept.stream]) == {kept.stream: [Received(kept, 5)]}


def test_equal_content_by_another_road_is_no_second_block(store: Store) -> None:
    """Role and resource may differ: the testimony is the same."""
    first = block(1, "wire", role="client", resource={"a": 1})
    again = block(1, "wire", role=None, resource={"b": 2})
    with store.write() as transaction:
        transaction.insert_blocks([Received(first, 1)])
        assert transaction.insert_blocks([Received(again, 2)]) == set()


@pytest.mark.parametrize("together", [False, True])
def test_a_vouched_copy_stands_whichever_comes_first(store: Store, together: bool) -> None:
    """A stock collector's copy has no role: one that has is news, never the other way round, nor a second one."""
    plain, vouched = (block(1, "wire", role=role, resource={"by": str(role)}) for role in (None, "client"))
    with store.write() as transaction:
        batches = [[plain, vouched]] if together else [[plain], [vouched]]
        for batch in batches:
            assert transaction.insert_blocks([Received(item, 1) for item in batch]) == {stream_id(1)}
        for again in (plain, vouched, block(1, "wire", role="any")):
            assert transaction.insert_blocks([Received(again, 2)]) == set()
        assert transaction.blocks_of([stream_id(1)]) == {stream_id(1): [Received(vouched, 1)]}


def test_different_content_under_one_key_is_kept(store: Store) -> None:
    """Both stay, for the judge to see the contradiction."""
    with store.write() as transaction:
        transaction.insert_blocks([Received(block(1, "wire", rows=3), 1)])
        assert transaction.insert_blocks([Received(block(1, "wire", rows=2), 2)]) == {stream_id(1)}
        assert len(transaction.blocks_of([stream_id(1)])[stream_id(1)]) == 2


def test_a_stream_has_room_for_so_many_blocks(store: Store) -> None:
    """What it holds already always fits; what is new fits as far as there is room, each stream for itself."""
    held = [Received(block(1, "wire", index=n, position=3 * n), 1) for n in range(4)]
    other = Received(block(2, "wire"), 1)
    with store.write() as transaction:
        transaction.lock_seen({stream_id(1): Seen(1, 1)})
        transaction.insert_blocks(held[:2])
        assert transaction.fitting([*held, other], 3) == ([*held[:3], other], {stream_id(1): 1})
        assert transaction.fitting([held[3], held[3]], 3) == ([held[3], held[3]], {})
        transaction.exceed({stream_id(1): 2})
        transaction.exceed({stream_id(1): 3})
        assert transaction.lock([stream_id(1)])[stream_id(1)].excess == 5


def test_seeing_again_widens_the_span_and_never_opens_what_closed(store: Store) -> None:
    """First and last arrival are the extremes; `closing` stays."""
    with store.write() as transaction:
        transaction.lock_seen({stream_id(1): Seen(10, 20, closing=True)})
        state = transaction.lock_seen({stream_id(1): Seen(5, 15)})[stream_id(1)]
    assert (state.first_received, state.last_received, state.closing) == (5, 20, True)


def test_taking_over_shuts_the_former_owner_out(store: Store) -> None:
    """The epoch goes up, the offset stays; the old epoch cannot move it any more."""
    with store.write() as transaction:
        old = transaction.take_over("t", 3)
        transaction.move([Move(old, 7, 1)])
    with store.write() as transaction:
        new = transaction.take_over("t", 3)
    assert (new.next, new.epoch) == (7, old.epoch + 1)
    with pytest.raises(Superseded), store.write() as transaction:
        transaction.move([Move(old._replace(next=7), 8, 2)])


def test_the_watermark_is_the_slowest_partitions(store: Store) -> None:
    """It never goes back, and a partition that was never read holds it at 0."""
    with store.write() as transaction:
        zero, one = transaction.take_over("t", 0), transaction.take_over("t", 1)
        transaction.move([Move(zero, 1, 100)])
        assert transaction.watermark("t") == 0
        transaction.move([Move(one, 1, 50)])
        transaction.move([Move(zero._replace(next=1), 2, 60)])
        assert transaction.watermark("t") == 50
        assert transaction.watermark("another") == 0
        transaction.move([Move(one._replace(next=1), 2, 500)])
        assert transaction.watermark("t") == 100


def test_counters_add_up(store: Store) -> None:
    """Each addition is on top of what is there."""
    for n in (2, 3):
        with store.write() as transaction:
            transaction.count({("a_total", ""): n, ("b_total", 'x="1"'): 1, ("zero_total", ""): 0})
    with store.read() as connection:
        assert queries.totals(connection) == {("a_total", ""): 5, ("b_total", 'x="1"'): 2}


def test_lists_are_newest_first_and_paged(store: Store) -> None:
    """Pages follow each other without overlap or hole, and the last has no cursor."""
    filled(store)
    pages = [ask(store, limit="2")]
    while pages[-1].next:
        pages.append(ask(store, limit="2", cursor=pages[-1].next))
    assert [ids(page) for page in pages] == [[5, 4], [3, 2], [1]]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"kind": "gap"}, [5, 3, 1]),
        ({"component": "transport"}, [5, 3, 1]),
        ({"component": "parser,reducer"}, []),
        ({"integrity": "intact"}, [4, 2]),
        ({"integrity": "intact,damaged"}, [5, 4, 3, 2, 1]),
        ({"ending": "completed", "group": "ok"}, [5, 4, 3, 2, 1]),
        ({"ending": "unwitnessed"}, []),
        ({"client": "httpx"}, [5, 4, 3, 2, 1]),
        ({"client": "openai"}, []),
        ({"confidence": "certain"}, [5, 3, 1]),
        ({"confidence": "narrowed,inconsistent"}, []),
        ({"state": "settled"}, [5, 4, 3, 2, 1]),
        ({"state": "open"}, []),
        ({"since": "6s"}, [5, 4]),
        ({"since": "2023-11-14T22:13:24"}, [5, 4]),
    ],
)
def test_filters(store: Store, parameters: dict[str, str], expected: list[int]) -> None:
    """Each parameter lets through what it names; several values mean any of them."""
    filled(store)
    assert ids(ask(store, **parameters)) == expected


@pytest.mark.parametrize(
    ("ending", "by", "component"),
    [
        ("client_parser_abort", "client", "parser"),
        ("client_reducer_abort", "client", "reducer"),
        ("upstream_truncated", "source", "source"),
        ("completed", "gateway", None),
    ],
)
def test_a_component_is_found_by_the_ending_that_is_its(
    store: Store, ending: str, by: str, component: str | None
) -> None:
    """Who raised or broke off has lost nothing, and is looked for all the same; who completed is not."""
    filled(store, 2)
    with store.engine.begin() as connection:
        change = sa.update(streams).where(streams.c.id == stream_id(2)).values(ending=ending, ended_by=by)
        connection.execute(change)
    found = {name: ids(ask(store, component=name)) for name in ("source", "gateway", "parser", "reducer")}
    assert found == {name: [2] if name == component else [] for name in found}


def test_rows_carry_what_lists_show(store: Store) -> None:
    """The verdict's short form, its labels, and the kinds and components of its findings."""
    filled(store, 1)
    row = ask(store).rows[0]
    assert {name: row[name] for name in ("short", "sent", "used", "client", "provider", "model", "service")} == {
        "short": "1 lost",
        "sent": 3,
        "used": 2,
        "client": "httpx",
        "provider": "openai",
        "model": "m",
        "service": "shop",
    }
    assert (row["kinds"], row["components"], row["confidence"]) == (["gap"], ["transport"], "certain")


def test_a_prefix_finds_its_stream(store: Store) -> None:
    """A unique one; an ambiguous one lists candidates; an unknown one is not found."""
    filled(store)
    with store.read() as connection:
        found = queries.find(connection, stream_id(3))
        assert (found.stream, found.state, found.block_count) == (stream_id(3), "settled", 2)
        assert found.document is not None
        assert found.document["stream"] == stream_id(3)
        with pytest.raises(queries.Ambiguous) as ambiguous:
            queries.find(connection, "000")
        assert ambiguous.value.candidates == [stream_id(n) for n in range(1, 6)]
        with pytest.raises(queries.NotFound):
            queries.find(connection, "f")


def test_hostile_labels_are_stored_harmlessly(store: Store) -> None:
    """NUL and overlong text in a label: PostgreSQL would refuse the whole batch."""

    class Labelling(PlainJudge):
        def judge(self, blocks: object, *, settled: bool, expired: bool = False, excess: int = 0) -> dict[str, object]:
            labels = {"client": "a\x00b" + "x" * 500, "provider": 7, "model": None}
            return super().judge(blocks, settled=settled, expired=expired) | {"labels": labels}  # type: ignore[arg-type]

    steps = Steps(store, Life(Labelling(), Patience()), lambda: START)
    steps.ingest([Received(block(1, point, final=True), START) for point in ("egress", "wire")])
    row = ask(store).rows[0]
    assert row["client"] == "a�b" + "x" * 125
    assert (row["provider"], row["model"]) == ("7", None)


def test_a_batch_larger_than_a_statement(store: Store) -> None:
    """More streams than one statement takes: all are locked and stored."""
    many = [Received(block(n, "egress"), START) for n in range(1, 1202)]
    Steps(store, Life(PlainJudge(), Patience()), lambda: START).ingest(many)
    with store.read() as connection:
        assert queries.states(connection) == {"open": 1201}
        assert len(queries.page(connection, Filter({}, limit=500)).rows) == 500


def test_points_are_part_of_nothing_here() -> None:
    """The kit's recorder ids are told apart by point, as the wire demands."""
    assert len({block(1, point).recorder for point in sc.POINTS}) == len(sc.POINTS)


def test_errors_show_no_values(store: Store) -> None:
    """They are logged: the statement is enough to tell what went wrong."""
    row = {"stream": "5" * 32, "revision": 1, "judge_version": 1, "judged_at": 1, "document": "secret words"}
    with pytest.raises(IntegrityError) as caught, store.engine.begin() as connection:
        connection.execute(sa.insert(verdicts), [row, row])
    assert "secret words" not in str(caught.value)
