"""What waits is worked off once and in order, whoever comes first."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from streamwitness.backlog import MOST, MOST_BYTES, Backlog


def test_items_are_worked_off_once_and_in_order() -> None:
    """Threads that settle at the same time share the work; none is done twice, none overtakes another."""
    backlog, seen = Backlog(), []
    for number in range(2000):
        backlog.add((lambda item: seen.append(item[1]), number))
    threads = [threading.Thread(target=backlog.settle) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == list(range(2000))


def test_it_is_full_by_number_and_by_size() -> None:
    """What waits is bounded, but for the item that goes beyond."""
    many, large = Backlog(), Backlog()
    for _ in range(MOST - 1):
        many.add((print,))
    large.add((lambda _: None,), MOST_BYTES - 1)
    assert (many.full, large.full) == (False, False)
    many.add((print,))
    large.add((lambda _: None,), 1)
    assert (many.full, large.full) == (True, True)
    large.settle()
    assert large.full is False


def test_a_finalizer_inside_the_work_leaves_the_rest_to_it() -> None:
    """Settling and ending from within an item's work: the items behind it come first, then the end, once."""
    backlog, seen = Backlog(), []

    def ending(_: Any) -> None:
        backlog.settle()
        backlog.last(lambda: seen.append("end"))
        seen.append("first")

    backlog.add((ending,))
    backlog.add((lambda _: seen.append("second"),))
    backlog.settle()
    backlog.settle()
    assert seen == ["first", "second", "end"]


def test_what_stands_behind_comes_once_for_all_that_waited() -> None:
    """It comes after the last item and before the end, for items of its own again, and after an item that fails."""
    backlog, seen = Backlog(), []

    def behind() -> None:
        if len(seen) == 2:
            backlog.add((lambda _: seen.append("late"),))
        seen.append("behind")

    def failing(_: Any) -> None:
        raise ZeroDivisionError

    backlog.behind.append(behind)
    backlog.add((lambda _: seen.append("one"),))
    backlog.add((lambda _: seen.append("two"),))
    backlog.last(lambda: seen.append("end"))
    assert seen == ["one", "two", "behind", "late", "behind", "end"]
    backlog.add((failing,))
    with pytest.raises(ZeroDivisionError):
        backlog.settle()
    assert seen[6:] == ["behind"]


def test_the_end_comes_after_what_waits() -> None:
    """`last` works off what waits before it acts, and acts at once where nothing does."""
    backlog, seen = Backlog(), []
    backlog.add((lambda _: seen.append("item"),))
    backlog.last(lambda: seen.append("end"))
    backlog.last(lambda: seen.append("again"))
    assert seen == ["item", "end", "again"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_inert_in_a_forked_child() -> None:
    """The parent works off what waits; a child would record it twice, or wait for a lock that nobody holds any more."""
    backlog, seen = Backlog(), []
    backlog.add((lambda _: seen.append(1),))
    child = os.fork()
    if child == 0:
        backlog.settle()
        backlog.last(lambda: seen.append(2))
        os._exit(len(seen))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_keeps_nothing() -> None:
    """It may read on what its parent had opened: what nobody will ever look at does not wait."""
    backlog = Backlog()
    child = os.fork()
    if child == 0:
        for _ in range(10 * backlog.most):
            backlog.add((None,), 1)
            if backlog.full:
                backlog.settle()
        os._exit(len(backlog.items) >= backlog.most)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
