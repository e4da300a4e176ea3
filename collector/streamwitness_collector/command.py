"""`streamwitness collector`: OTLP over HTTP in, Kafka out, until it is told to stop."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from streamwitness.commands import Command

from .config import CollectorSettings


def run(args: Namespace) -> int:
    """Serve until SIGTERM or SIGINT; then finish the requests under way and flush Kafka."""
    settings: CollectorSettings = args.settings
    from .app import create_app
    from .kafka import KafkaSink
    from .serve import serve

    sink = KafkaSink(settings)
    return serve(create_app(settings, sink), settings.host, settings.port, name="collector", ready=sink.connect,
                 to=f"topic {settings.topic} at Kafka {','.join(settings.kafka)}")  # fmt: skip


COMMAND: Final = Command(
    name="collector",
    help="take blocks over OTLP/HTTP, check them, write them to Kafka",
    run=run,
    settings=CollectorSettings,
    needs=("starlette", "uvicorn", "kafka", "prometheus_client"),
    extra="collector",
)
