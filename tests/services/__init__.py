"""The real services that tests and `make demo-kafka` use: Kafka, PostgreSQL, promtool.

`python -m tests.services install` installs what it may; `Kafka`, `Postgres` start and stop them; `ServiceMissing`
names what is missing and how to get it. No container engine is needed anywhere.
"""

from __future__ import annotations

from tests.services.errors import ServiceFailed, ServiceMissing
from tests.services.kafka import Kafka
from tests.services.postgres import Postgres
from tests.services.programs import promtool

__all__ = ["NAMES", "Kafka", "Postgres", "ServiceFailed", "ServiceMissing", "promtool"]

NAMES = ("kafka", "postgres", "promtool")
"""What STREAMWITNESS_REQUIRE may list (or `all`)."""
