"""`python -m tests.services install`, or `… run -- COMMAND`: with Kafka and PostgreSQL up, and their addresses set."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys

from tests.services import Kafka, Postgres, ServiceFailed, ServiceMissing
from tests.services.install import install
from tests.services.required import required


def main() -> int:
    """Exit code: 0, 1 for something that must be there and is not, or the command's own."""
    parser = argparse.ArgumentParser(prog="python -m tests.services", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("install", help="install what is missing, where that is allowed")
    run = actions.add_parser("run", help="run a command with STREAMWITNESS_KAFKA and STREAMWITNESS_DATABASE set")
    run.add_argument(
        "--keep", action="store_true", help="on a terminal, keep them up afterwards until Enter is pressed"
    )
    run.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    return _install() if arguments.action == "install" else _run(arguments.command, keep=arguments.keep)


def _install() -> int:
    missing = install()
    for reason in missing.values():
        print(f"services: {reason}", file=sys.stderr)
    return 1 if set(missing) & required(os.environ) else 0


def _run(command: list[str], *, keep: bool) -> int:
    # A plain `kill` unwinds like Ctrl-C, so that the services are stopped in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        print("Starting Kafka and PostgreSQL …", file=sys.stderr, flush=True)
        with Kafka() as kafka, Postgres() as postgres, postgres.database() as database:
            environ = {**os.environ, "STREAMWITNESS_KAFKA": kafka.bootstrap, "STREAMWITNESS_DATABASE": database}
            status = subprocess.run(command, env=environ, check=False).returncode
            if keep and sys.stdin.isatty():
                input("Kafka and PostgreSQL are still up, so that you can look. Enter stops them. ")
        print("Kafka and PostgreSQL are stopped, their data is gone.", file=sys.stderr)
        return status
    except (ServiceMissing, ServiceFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        return 130


if __name__ == "__main__":
    sys.exit(main())
