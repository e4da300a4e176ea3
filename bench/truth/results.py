"""A run kept as files: as printed (RESULTS.md), its figures (results.json) and one picture (truth.svg)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from . import picture, report
from .gates import Tally

_README: Final = Path(__file__).parents[1] / "README.md"
_TEXT: Final = """\
# Bench of truth: a run as printed

What the columns and outcomes mean stands in [bench/README.md]({readme}#the-bench-of-truth). The figures are counts, so
they are the same on every machine, but for streams over sockets that hang on a clock. A gate that is red names its
streams: `make truth ARGS="--only NAME --loss LOSS"`.

![found and cleared, by telemetry loss](truth.svg)

`{command}` at {commit}:

```text
{lines}
```
"""


def write(folder: Path, found: Tally, printed: Iterable[str], command: str) -> None:
    """Write the three files into a folder, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    commit = _commit()
    readme = Path(os.path.relpath(_README, folder)).as_posix()
    text = _TEXT.format(readme=readme, command=command, commit=commit, lines="\n".join(printed).rstrip())
    (folder / "RESULTS.md").write_text(text)
    (folder / "results.json").write_text(report.dumped(found, command=command, commit=commit))
    (folder / "truth.svg").write_text(picture.drawn(found))


def _commit() -> str:
    """What of the repository was run; where something differs from its commit, that is said."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        told = subprocess.run(asked, cwd=_README.parent, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"
    return told.replace("-dirty", ", changed since")
