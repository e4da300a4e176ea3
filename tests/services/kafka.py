"""A real Kafka broker of one node (KRaft), on free ports, with its data in a scratch folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType

from tests.services.errors import ServiceFailed
from tests.services.process import Process, free_port, scratch
from tests.services.programs import java, kafka_libs

_READY_SECONDS = 90.0
_TRIES = 3

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.partitions=4
"""


class Kafka:
    """`with Kafka() as kafka:` runs a broker; `kafka.bootstrap` is its `host:port`.

    Raises ServiceMissing (no Java, no jars) or ServiceFailed (does not come up).
    """

    def __init__(self) -> None:
        self.bootstrap = ""
        self._process: Process | None = None

    def __enter__(self) -> Kafka:
        java(), kafka_libs()
        for attempt in range(1, _TRIES + 1):
            try:
                self._start()
                return self
            except ServiceFailed as error:
                self._stop()
                # Somebody else took one of our ports between choosing and binding.
                if attempt == _TRIES or "BindException" not in str(error):
                    raise
            except BaseException:
                self._stop()
                raise
        raise AssertionError("unreachable")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def _start(self) -> None:
        folder = scratch("kafka")
        port = free_port()
        try:
            properties = _configure(folder, port)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        # A small heap and the quick compiler: the broker is up in seconds and lives for minutes.
        command = [*_java("-Xmx512m", "-XX:TieredStopAtLevel=1"), "kafka.Kafka", str(properties)]
        # The JVM answers SIGTERM with 143 after a clean shutdown, which moves leadership and takes seconds: the data is
        # thrown away, so it is not asked for.
        self._process = Process(command, folder=folder, polite="SIGKILL")
        self._process.wait_until(lambda: _answers(port), seconds=_READY_SECONDS)
        self.bootstrap = f"127.0.0.1:{port}"

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None


def _java(*options: str) -> list[str]:
    return [java(), *options, "-cp", f"{kafka_libs()}/*"]


def _configure(folder: Path, port: int) -> Path:
    """Writes server.properties and formats the data folder as a new cluster."""
    properties = folder / "server.properties"
    properties.write_text(_PROPERTIES.format(port=port, controller=free_port(), data=folder / "data"), encoding="ascii")
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(properties)]
    done = subprocess.run(
        [*_java("-XX:TieredStopAtLevel=1"), *tool], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ServiceFailed(f"Kafka could not format {folder / 'data'}\n{done.stdout}{done.stderr}")
    return properties


def _answers(port: int) -> bool:
    """True once the broker answers a metadata request and names itself as a live broker."""
    from kafka.admin import KafkaAdminClient
    from kafka.errors import KafkaError

    # kafka-python leaks the socket of a refused connection, which pytest then reports: knock first.
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    try:
        client = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}", request_timeout_ms=5_000)
    except KafkaError:
        return False
    try:
        return bool(client.describe_cluster()["brokers"])
    except KafkaError:
        return False
    finally:
        client.close()
