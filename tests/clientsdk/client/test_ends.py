"""Exceptions are told apart by what caused them."""

from __future__ import annotations

import asyncio

import httpcore
import httpx
import pytest

from streamwitness.client import ends
from streamwitness.semconv import CLIENT_ENDS


def caused(error: Exception, cause: BaseException) -> Exception:
    """The error with an explicit cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(("error", "end"), [
    (caused(httpx.ReadError(""), ConnectionResetError()), "reset"),
    (caused(httpx.ReadError(""), caused(httpcore.ReadError(), BrokenPipeError())), "reset"),
    (httpx.ReadError(""), "unknown"),
    (httpx.ReadTimeout(""), "timeout"),
    (httpx.RemoteProtocolError(""), "protocol_error"),
    (asyncio.CancelledError(), "cancelled"),
    (KeyboardInterrupt(), "cancelled"),
    (ValueError(), "unknown"),
])  # fmt: skip
def test_of_transport(error: BaseException, end: str) -> None:
    """One end for each cause, unknown where there is none."""
    assert ends.of_transport(error) == end
    assert end in CLIENT_ENDS


def test_a_reset_that_the_host_was_handling_is_not_ours() -> None:
    """An exception of another connection in the context says nothing about this one."""
    error = httpx.ReadError("")
    error.__context__ = ConnectionResetError()
    assert ends.of_transport(error) == "unknown"


def test_of_parser() -> None:
    """An exception that no transport caused is the parser's own."""
    assert (ends.of_parser(ValueError()), ends.of_parser(caused(ValueError(), httpx.ReadTimeout("")))) == (
        "raised", "timeout",
    )  # fmt: skip


def test_endless_chains_end() -> None:
    """A chain of causes that is a ring is followed for a while only."""
    error = ValueError()
    error.__cause__ = error
    assert ends.of_transport(error) == "unknown"
