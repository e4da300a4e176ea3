"""Exceptions are told apart by what caused them."""

from __future__ import annotations

import asyncio
import errno
import http.client

import aiohttp
import httpcore
import httpx
import pytest
import requests
import urllib3

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
    (urllib3.exceptions.ProtocolError("Response ended prematurely"), "protocol_error"),
    (caused(urllib3.exceptions.ProtocolError(""), ConnectionResetError()), "reset"),
    (caused(urllib3.exceptions.ProtocolError(""), OSError(errno.EBADF, "closed by another thread")), "unknown"),
    (caused(urllib3.exceptions.ProtocolError(""), http.client.IncompleteRead(b"")), "protocol_error"),
    (aiohttp.SocketTimeoutError(), "timeout"),
    (TimeoutError(), "timeout"),
    (caused(httpx.ReadError(""), TimeoutError(errno.ETIMEDOUT, "the network gave up")), "unknown"),
    (caused(aiohttp.ClientPayloadError(), aiohttp.http_exceptions.TransferEncodingError("short")), "protocol_error"),
    (caused(aiohttp.ClientPayloadError(), aiohttp.http_exceptions.ContentLengthError("short")), "protocol_error"),
    (aiohttp.ClientConnectionError("Connection closed"), "unknown"),
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


def test_requests_hides_its_causes_in_the_context() -> None:
    """It raises its own error where it handles urllib3's."""
    error = requests.exceptions.ChunkedEncodingError()
    error.__context__ = caused(urllib3.exceptions.ProtocolError(""), ConnectionResetError())
    assert ends.of_parser(error) == "reset"


def test_of_parser() -> None:
    """An exception that no transport caused is the parser's own."""
    assert (ends.of_parser(ValueError()), ends.of_parser(caused(ValueError(), httpx.ReadTimeout("")))) == (
        "raised", "timeout",
    )  # fmt: skip


@pytest.mark.parametrize(
    "error", [httpx.ReadError(""), httpx.StreamClosed(), urllib3.exceptions.ProtocolError(""), aiohttp.ClientError()]
)
def test_a_parser_passes_on_what_reading_raised(error: Exception) -> None:
    """A connection that another task closed, or that died, is no failure of the parser's, however it wraps that."""
    assert ends.of_parser(caused(RuntimeError("connection error"), error)) != "raised"


def test_endless_chains_end() -> None:
    """A chain of causes that is a ring is followed for a while only."""
    error = ValueError()
    error.__cause__ = error
    assert ends.of_transport(error) == "unknown"
