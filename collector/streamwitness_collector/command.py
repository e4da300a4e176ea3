"""`streamwitness collector`: OTLP over HTTP in, Kafka out, until it is told to stop."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from streamwitness.commands import Command
from streamwitness.settings import SettingsError, label

from .config import CollectorSettings


def run(args: Namespace) -> int:
    """Serve until SIGTERM or SIGINT; then finish the requests under way and flush Kafka."""
    settings: CollectorSettings = args.settings
    if not settings.kafka:
        raise SettingsError(f"say where Kafka is: {label('kafka')}; `streamwitness up` runs without Kafka")
    from .app import create_app
    from .kafka import KafkaSink
    from .serve import serve

    app = create_app(settings, KafkaSink(settings))
    return serve(app, settings.host, settings.port, name="collector", to=f"Kafka {','.join(settings.kafka)}")


COMMAND: Final = Command(
    name="collector",
    help="take blocks over OTLP/HTTP, check them, write them to Kafka",
    run=run,
    settings=CollectorSettings,
    needs=("starlette", "uvicorn", "kafka", "prometheus_client"),
    extra="collector",
)
