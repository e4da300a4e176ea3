"""The rules of the gateway (docs/design.md §7.2), and for each the streams that need it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamwitness_analyzer.judge.gateway import excuses

from .cutting import CUT
from .instead import Mutation, left_out, never, said

_NEEDED_BY: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("filtered", "rewritten"), ("declared",)),
    "merged": ("merges_alike",),
    "without_digests": ("counted",),
    "ended_in_passing": ("breaks_off",),
    "no_difference": ("client_left",),
    "broke_an_event": ("breaks_an_event",),
    "went_on_behind_the_end": ("goes_on",),
    "read_by_lines": ("reads_by_lines",),
    "not_all_read": ("mends_an_event",),
    "written_otherwise": ("calls_anew",),
    "unknown_format": ("unknown_format",),
    "under_another_name": ("renews_its_store",),
    "in_other_fields": ("tells_elsewhere",),
    "in_other_turns": ("takes_turns",),
    "of_silent_choices": ("ends_in_turns",),
    "without_slots": ("cuts_later",),
}
"""Excuse → the streams that need it; of any other, those of all gateways."""
_GATEWAYS: Final = ("recorded", "merging", "attempts", "gateway")
REPEATED: Final = {
    "without_digests": "`of_something_else` says the same in other words",
    "only_envelope": "another reason to finish in the same format is unproven without it as well (`OTHER_WORD`)",
}
"""Excuse → why nothing is missed without it."""


def excused() -> Iterator[Mutation]:
    """Each entry of the judge's table of excuses."""
    for rule in excuses.RULES:
        if rule.__name__ not in REPEATED:
            sorts = _NEEDED_BY.get(rule.__name__, _GATEWAYS)
            yield Mutation(f"7.2 gateway excused: {rule.__name__}", {"excuses.RULES": left_out(rule)}, sorts)


GATEWAY: Final = (
    Mutation("7.2 gateway: all listed legs must be held", {"upstream._not_held": never("")}, _GATEWAYS),
    Mutation("7.2 gateway: only the leg that feeds the answer accuses", {"legs.related": never(True)}, _GATEWAYS),
    Mutation("7.2 gateway: known by one id and an event byte for byte", {"legs.passed_on": never(False)}, _GATEWAYS),
    Mutation("7.2 gateway: an attempt that says the same explains it", {"legs.equal_legs": never([])}, ("hedged",)),
    Mutation("7.2 gateway: another attempt may explain it", {"legs.explained_by": never(False)},
             ("attempts", "went_over")),
    Mutation("7.2 gateway: parts of several in a row", {"legs.continued": never(False)}, ("went_over", "attempts")),
    Mutation("7.2 gateway: content of another attempt", {"legs.spliced": never(False)}, ("keeps_a_piece",)),
    Mutation("7.2 gateway: only what was due", {"crossing.all_due": never(True)}, _GATEWAYS),
    Mutation("7.2 gateway: equal content, however it is cut", {"recut.same_slots": never(False)}, _GATEWAYS),
    Mutation("7.2 gateway: content cut otherwise is not lost by pieces", {"recut._is_recut": never(False)}, _GATEWAYS),
    Mutation("7.2 envelope: a finish that it may make up or leave out", {"envelope.is_envelope": never(False)},
             ("other_words", "finished_and_left")),
    Mutation("7.2 envelope: no finish that it may not make up", {"envelope._may_make_up": never(True)},
             ("loses_and_makes_up",)),
    Mutation("7.2 envelope: lost_finish", {"envelope.lost_finish": never(None)}, ("loses_the_finish",)),
    Mutation("7.2 envelope: made_up_finish", {"envelope.made_up_finish": never(None)}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: invented_terminal", {"envelope.invented_terminal": never([])}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: swallowed_error", {"envelope.swallowed_error": never([])}, ("swallows",)),
    Mutation("7.2 envelope: broken_events", {"envelope.broken_events": never([])}, ("breaks_an_event",)),
    Mutation("7.2 envelope: a gateway that let go may finish", {"envelope.chose_to_stop": never(False)},
             ("makes_up_an_end",)),
    Mutation("7.2 envelope: one whose time was up may not", {"envelope.chose_to_stop": lambda _: lambda leg:
             leg.own_end}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: one that says that it failed", {"finishes.tells_error": never(False)},
             ("makes_up_an_end",)),
    Mutation("7.2 envelope: one that asked again swallowed nothing", {"envelope._asked_again": never(False)},
             ("swallows",)),
    Mutation("7.2 declared: a filter leaves the rest in order", {"declared._left_out": never(0)}, ("declared",)),
    Mutation("7.2 gateway: an attempt that shows nothing explains nothing", {"legs.shows_nothing_of": never(False)},
             ("invents_beside", "loses_beside")),
    Mutation("7.2 gateway: one that may show explains", {"legs.shows_nothing_of": never(True)},
             ("went_over", "keeps_a_run")),
    Mutation("7.2 gateway: a joined run of another attempt", {"legs._begins_with": never(False)}, ("keeps_a_run",)),
    Mutation("7.2 gateway: what is no run of another attempt", {"legs._begins_with": never(True)},
             ("invents_beside",)),
    Mutation("7.2 gateway: what is left of the only response", {"excuses.left_of_the_only_one": never(False)},
             ("every_other",)),
    Mutation("7.2 gateway: what is not left of the only response", {"excuses.left_of_the_only_one": never(True)},
             ("attempts",)),
    Mutation("7.2 verbatim: an answer as it was written", {"verbatim.Verbatim.whole": said(False)},
             ("finish_twice", "loses_beside")),
    Mutation("7.2 verbatim: an answer that was not", {"verbatim.Verbatim.whole": said(True)}, ("calls_anew",)),
    Mutation("7.2 verbatim: most of an answer", {"verbatim.Verbatim.mostly": said(False)},
             ("invents_beside", "another_finish")),
    Mutation("7.2 verbatim: less than most of it", {"verbatim.Verbatim.mostly": said(True)}, ("other_words",)),
    Mutation("7.2 behind the end: what nobody reads", {"behind.behind_the_end": never([])}, ("goes_on",)),
    Mutation("7.2 behind the end: another response that ended", {"behind._ended": never(False)},
             ("one_behind_the_other",)),
    Mutation("7.2 recut: a finish that came twice", {"recut.doubled_or_displaced": never(False)}, ("finish_twice",)),
    Mutation("7.2 recut: a terminator before the rest", {"recut._ended_too_early": never(False)}, ("goes_on",),
             ("10 %", "30 %", "30 % in bursts")),
    Mutation("7.2 recut: other turns", {"recut.changed_turns": never(False)}, ("other_turns",)),
    Mutation("7.2 recut: a finish that is lost may stand behind", {"recut._ends_are_held": never(True)},
             ("takes_turns",), ("10 %", "30 %")),
    Mutation("7.2 rewritten: a piece among pieces", {"rewritten._among_pieces": never(False)}, ("changes_a_piece",)),
    Mutation("7.2 rewritten: a call without other pieces", {"rewritten._among_pieces": never(True)}, ("call_anew",)),
    Mutation("7.2 calls: under one number", {"upstream.under_one_number": never("")}, ("numbers_alike",)),
    Mutation("7.2 calls: of which no digest of the whole is held", {"upstream.untold_calls": never("")},
             ("wrong_call",), (CUT,)),
    Mutation("7.2 calls: pieces in another call's place", {"parts.other_calls": never(False)}, ("wrong_call",)),
    Mutation("7.2 envelope: a finish in other words", {"envelope._finished_in_other_words": never(False)},
             ("other_words",)),
    Mutation("7.2 envelope: a finish that says something else", {"envelope.changed_finish": never(None)},
             ("another_finish",)),
    Mutation("7.2 envelope: a word that hides that the gateway let go", {"envelope.own_word": never("")},
             ("lets_go",)),
    Mutation("7.2 envelope: what a gateway that let go kept back", {"envelope.left_out": never("")}, ("lets_go",)),
    Mutation("7.2 envelope: a terminator that was almost read", {"envelope._half_terminal": never(False)},
             ("reads_by_lines",)),
    Mutation("7.2 declared: what a gateway says that it does", {"declared.edits_of": never(frozenset())},
             ("declared",)),
    Mutation("7.2 declared: what a filter left is known", {"declared.sifted": never(False)}, ("sifts",)),
    Mutation("7.2 declared: what may be left of an event", {"declared._may_be_left": never(False)},
             ("filters_within",)),
    Mutation("7.2 declared: what has no place is no rest", {"declared._has_no_place": never(False)},
             ("doubles_beside_a_filter",)),
    Mutation("7.2 declared: what has one may be", {"declared._has_no_place": never(True)}, ("filters_within",)),
    Mutation("7.2 recut: output behind the last finish", {"recut._finished_too_early": never(False)}, ("goes_on",)),
    Mutation("7.2 envelope: who may finish", {"envelope._may_finish": never(True)}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: an end that was left unread", {"envelope._may_finish": never(False)},
             ("reads_by_lines",)),
    Mutation("7.2 envelope: what is not counted among judged events", {"envelope.uncounted": never(())},
             ("swallows",)),
    Mutation("7.2 upstream: more than was read, by its counts", {"upstream._has_more": never(False)}, ("goes_on",),
             ("cut by limits", "10 %", "30 %")),
    Mutation("7.2 verbatim: numbers within the events", {"verbatim.Verbatim.numbered": said(False)}, ("numbered",)),
    Mutation("7.2 verbatim: and their size", {"verbatim._size_of_stamp": never(0)}, ("numbered",)),
    Mutation("7.2 verbatim: rows that are not held", {"verbatim.Verbatim.held": said(True)},
             ("skips_what_it_sent",), ("cut by limits", "late", "30 %")),
    Mutation("7.2 gateway: a response that begins anew", {"upstream.begun_anew": never(None)}, ("begins_anew",)),
    Mutation("7.2 gateway: output that nobody reads", {"upstream.says_more": never(False)}, ("loses_pictures",)),
    Mutation("7.2 gateway: what stands in both may be another attempt's", {"legs._stands_in_it": never(False)},
             ("attempts", "went_over")),
    Mutation("7.2 declared: left out here and doubled there", {"declared._may_be_both": never(False)}, ("declared",)),
)  # fmt: skip
