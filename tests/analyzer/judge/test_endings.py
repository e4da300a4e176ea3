"""The endings table: total, every row used, and the rows that people ask about."""

from __future__ import annotations

import pytest

from streamwitness_analyzer.judge.ending.endings import CLIENT, EGRESS, INGRESS, ROWS, ending_of, table
from streamwitness_analyzer.vocabulary import ENDINGS


def test_table_is_total_over_all_three_ends() -> None:
    """Every combination of ends has a row, before and after the settlement."""
    lines = list(table())
    assert len(lines) == len(INGRESS) * len(EGRESS) * len(CLIENT)
    for ingress, egress, client, _ in lines:
        ending_of(ingress, egress, client, settled=False)


def test_every_row_decides_something() -> None:
    """No row is hidden behind an earlier one."""
    assert {row for *_, row in table()} == set(ROWS)


def test_rows_use_known_words_only() -> None:
    """Ends are words of the three lists, classes have a group, makers are known, reasons are told."""
    for row in ROWS:
        assert set(row.ingress.split()) <= set(INGRESS), row
        assert set(row.egress.split()) <= set(EGRESS), row
        assert set(row.client.split()) <= set(CLIENT), row
        assert row.ending is None or row.ending in ENDINGS, row
        assert row.by in (None, "source", "gateway", "transport", "client"), row
        assert row.reason, row


def test_after_the_settlement_every_stream_has_an_ending() -> None:
    """Only a client that may still speak leaves the ending open."""
    assert all(row.ending is not None for *_, client, row in table() if client != "waiting")


def test_nothing_rests_on_silence_before_the_settlement() -> None:
    """`client_gone`, `client_vanished` and `unwitnessed` wait."""
    silent = {"client_gone", "client_vanished", "unwitnessed"}
    for ingress, egress, client, _ in table():
        assert ending_of(ingress, egress, client, settled=False).ending not in silent


@pytest.mark.parametrize(
    ("ends", "ending", "by"),
    [
        (("complete", "complete", "complete"), "completed", "source"),
        (("complete", "complete", "missing"), "completed", None),
        (("complete", "complete", "parser_unseen"), "client_parser_abort", None),
        (("error", "none", "parser_unseen"), "upstream_error", "source"),
        (("none", "none", "reducer_unseen"), "client_reducer_abort", None),
        (("cut", "eof", "eof"), "upstream_truncated", "source"),
        (("broken", "raised", "eof"), "upstream_truncated", "source"),
        (("broken", "raised", "none"), "upstream_truncated", "source"),
        (("complete", "raised", "protocol_error"), "gateway_error", "gateway"),
        (("error", "error", "error"), "upstream_error", "source"),
        (("none", "error", "error"), "upstream_error", None),
        (("stopped", "disconnected", "cancelled"), "client_cancelled", "client"),
        (("stopped", "disconnected", "reset"), "network_lost", "transport"),
        (("stopped", "disconnected", "missing"), "client_vanished", None),
        (("stopped", "disconnected", "none"), "client_gone", None),
        (("complete", "disconnected", "complete"), "completed", "source"),
        (("complete", "complete", "reset"), "network_lost", "transport"),
        (("complete", "eof", "eof"), "gateway_truncated", "gateway"),
        (("stopped", "shutdown", "reset"), "gateway_shutdown", "gateway"),
        (("cut", "eof", "cancelled"), "client_cancelled", "client"),
        (("none", "none", "eof"), "upstream_truncated", None),
        (("none", "none", "unfinished"), "protocol_violation", None),
        (("none", "unfinished", "unfinished"), "protocol_violation", None),
        (("stopped", "unfinished", "unfinished"), "gateway_truncated", "gateway"),
        (("cut", "unfinished", "unfinished"), "upstream_truncated", "source"),
        (("none", "none", "reset"), "network_lost", None),
        (("none", "none", "none"), "unwitnessed", None),
        (("timeout", "eof", "eof"), "upstream_timeout", "source"),
        (("complete", "complete", "reducer"), "client_reducer_abort", "client"),
        (("timeout", "complete", "complete"), "upstream_timeout", "source"),
        (("unfinished", "eof", "eof"), "protocol_violation", "source"),
        (("unfinished", "complete", "complete"), "protocol_violation", "source"),
        (("misframed", "misframed", "misframed"), "protocol_violation", "source"),
        (("misframed", "complete", "complete"), "completed", "source"),
        (("complete", "misframed", "misframed"), "protocol_violation", "gateway"),
        (("cut", "misframed", "misframed"), "upstream_truncated", "source"),
        (("none", "misframed", "misframed"), "protocol_violation", None),
        (("none", "none", "misframed"), "protocol_violation", None),
        (("complete", "complete", "misframed"), "protocol_violation", "transport"),
        (("complete", "complete", "error"), "protocol_violation", "transport"),
        (("complete", "disconnected", "error"), "protocol_violation", "transport"),
        (("complete", "none", "error"), "gateway_error", None),
        (("complete", "error", "error"), "gateway_error", "gateway"),
        (("error", "error", "error_unseen"), "upstream_error", None),
        (("complete", "raised", "misframed"), "gateway_error", "gateway"),
        (("complete", "misframed", "parser"), "client_parser_abort", "client"),
    ],
)
def test_ending(ends: tuple[str, str, str], ending: str, by: str | None) -> None:
    """The class, and who ended it."""
    row = ending_of(*ends)
    assert (row.ending, row.by) == (ending, by)
