"""The tables. The database is the join table: analyzers share nothing else.

Times are Unix nanoseconds. Identifiers are lower-case hex and compared byte by byte in both databases.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

metadata = sa.MetaData()

_Hex: Final = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")
_Hash: Final = sa.LargeBinary(16)

streams = sa.Table(
    "streams",
    metadata,
    sa.Column("id", _Hex, primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("expired", sa.Boolean, nullable=False),
    sa.Column("closing", sa.Boolean, nullable=False),
    sa.Column("first_received", sa.BigInteger, nullable=False),
    sa.Column("last_received", sa.BigInteger, nullable=False),
    sa.Column("due", sa.BigInteger),
    sa.Column("excess", sa.BigInteger, nullable=False),
    sa.Column("settled_at", sa.BigInteger),
    sa.Column("ending", sa.String(64)),
    sa.Column("ending_group", sa.String(64)),
    sa.Column("integrity", sa.String(16)),
    sa.Column("confidence", sa.String(16)),
    sa.Column("client", sa.String(128)),
    sa.Column("provider", sa.String(128)),
    sa.Column("model", sa.String(128)),
    sa.Column("service", sa.String(128)),
    sa.Column("short", sa.String(256)),
    sa.Column("ended_by", sa.String(16)),
    sa.Column("at_point", sa.String(16)),
    sa.Column("at_ms", sa.BigInteger),
    sa.Column("silent_ms", sa.BigInteger),
    sa.Column("at_bytes", sa.BigInteger),
    sa.Column("sent", sa.BigInteger),
    sa.Column("used", sa.BigInteger),
    sa.Index("streams_due", "due"),
    sa.Index("streams_state", "state"),
    sa.Index("streams_newest", "first_received", "id"),
)
"""One row a stream; its state is one of vocabulary.STATES.

`due` is when the watermark settles it (null: settled), `excess` how many blocks came when it had its fill; the columns
behind `settled_at` are copied from the verdict.
"""

blocks = sa.Table(
    "blocks",
    metadata,
    sa.Column("recorder", _Hex, primary_key=True),
    sa.Column("index", sa.BigInteger, primary_key=True),
    sa.Column("summary", sa.Boolean, primary_key=True),
    sa.Column("hash", _Hash, primary_key=True),
    sa.Column("stream", _Hex, nullable=False),
    sa.Column("received", sa.BigInteger, nullable=False),
    sa.Column("role", sa.String(16)),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Index("blocks_stream", "stream"),
)
"""One row a block. The hash is in the key so that contradicting blocks are both kept, for the judge to see.

`role` is null where nobody vouched for it.
"""

findings = sa.Table(
    "findings",
    metadata,
    sa.Column("stream", _Hex, primary_key=True),
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("component", sa.String(32), primary_key=True),
    sa.Column("confidence", sa.String(16), nullable=False),
    sa.Index("findings_kind", "kind", "stream"),
    sa.Index("findings_component", "component", "stream"),
)
"""The findings of the current verdict, for filters."""

verdicts = sa.Table(
    "verdicts",
    metadata,
    sa.Column("stream", _Hex, primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("judge_version", sa.Integer, nullable=False),
    sa.Column("judged_at", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
"""Every settled or corrected verdict; a provisional one stands at revision 1 until the settled one replaces it.

`judged_at` is when it was written, by the analyzer's clock: for people, nothing is decided by it.
"""

offsets = sa.Table(
    "offsets",
    metadata,
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("next", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("watermark", sa.BigInteger, nullable=False),
)
"""Where reading goes on. Who took the partition over last has its epoch; `watermark` is how far time has come there."""

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("labels", sa.String(256), primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)
"""Totals for `/metrics`, moved in the transaction that makes them true."""
