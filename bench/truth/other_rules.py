"""The rules of clients, of the source, of times, and of several exchanges (docs/design.md §7.1 to §7.3, §7.9)."""

from __future__ import annotations

from typing import Final

from .instead import Mutation, first, never

_LOSSY: Final = ("10 %", "30 %", "30 % in bursts", "cut by limits", "closing blocks")

CLIENT: Final = (
    Mutation("7.2 lenient: bytes that not every reader takes", {"lenient.but_for_odd_bytes": first(0)},
             ("odd_bytes",)),
    Mutation("7.2 lenient: a call without arguments is implied", {"lenient.implied": never(False)}, ("implied",)),
    Mutation("7.1 by name: kinds of output in turns of their own", {"apart.kinds_of": never(None)},
             ("kinds_apart",)),
    Mutation("7.1 by name: what is not known of what was handed on", {"named._in_doubt": never(False)},
             ("forgets",), _LOSSY),
    Mutation("7.1 by name: what a lost block skipped", {"named._skipped": never(())}, ("forgets",), _LOSSY),
    Mutation("7.1 by name: what came too late of a kind", {"apart.passed": never(True)}, ("kinds_apart",), _LOSSY),
    Mutation("7.2 parsed: the whole content tells", {"handed._whole_content_told": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: without it nothing does", {"handed._whole_content_told": never(True)}, ("cuts_anew",)),
    Mutation("7.2 parsed: another finish", {"handed._with_finish": first(0)}, ("other_end",)),
    Mutation("7.1 events of another stream that were built in", {"refused.mixed_up": never([])}, ("mixed_up",)),
)  # fmt: skip

SOURCE: Final = (
    Mutation("7.3 source: what its stream gives away", {"source.source_faults": never([])}, ("mends_an_event",)),
)

TIMES: Final[tuple[Mutation, ...]] = ()

EXCHANGES: Final[tuple[Mutation, ...]] = ()
