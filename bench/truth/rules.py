"""The rules of docs/design.md §7.1 and §7.2 as the judge has them, and for each the wrong thing that it prevents.

Those of the gateway stand in `gateway_rules.py`, those of clients, times and several exchanges in `other_rules.py`.
"""

from __future__ import annotations

from typing import Final

from streamwitness.semconv import OUT_OF_TURN
from streamwitness_analyzer.judge.client import handed
from streamwitness_analyzer.judge.compare import fill
from streamwitness_analyzer.judge.testimony.finishes import finishes

from .gateway_rules import GATEWAY, excused
from .instead import (
    Mutation,
    all_due,
    all_settled,
    as_one_exchange,
    as_promised,
    bare,
    believed,
    by_count_alone,
    every_hop_intact,
    everybody_before,
    exactly,
    first,
    first_copy,
    if_as_long,
    left_out,
    named_only,
    never,
    not_slid,
    of_any_process,
    one_explanation,
    only_there,
    prefix_only,
    records_only,
    said,
    table_with,
    without_summaries,
)
from .other_rules import CLIENT, EXCHANGES, SOURCE, TIMES

_HOPS: Final = ("hop", "path")


BLAME: Final = (
    Mutation("7.1 suspects: from the last point that saw it", {"attribute.suspects": everybody_before}),
    Mutation("7.1 seen, missing, seen again: nobody", {"attribute._contradicted": first(1)}, ("lying",)),
    Mutation("7.1 accountability: a stop of one's own is no loss", {"hops.ended_by_peer": all_due}, _HOPS),
    Mutation("7.1 one process", {"records.Exchange.at": of_any_process, "hops._only": lambda _: lambda records:
             records[-1] if records else None}, ("tabs",)),
    Mutation("7.1 one exchange", {"records.collect": as_one_exchange}, ("resumed", "gateways")),
    Mutation("7.1 two records of one point in one process: none", {"hops._only": lambda _: lambda records:
             records[-1] if records else None}, ("twice",)),
    Mutation("7.1 roles: only points that the key may testify for", {"records.contributes": never(True)}, ("roles",)),
    Mutation("7.1 roles: nothing is certain without one", {"records.Record.vouched": said(True)}, ("roles",)),
    Mutation("7.1 contradicting: counters that fall, blocks behind the end", {"records._follows": never(True)},
             ("contradicting",)),
    Mutation("7.1 contradicting: one block, two contents", {"records._agree": never(True)}, ("contradicting",)),
    Mutation("7.1 contradicting: rows that do not add up", {"view.Opened._know": lambda _: believed},
             ("contradicting",)),
    Mutation("7.1 contradicting: the witness is set aside whole", {"records.collect": records_only},
             ("contradicting",)),
    Mutation("7.1 by name: a lost block owns what it passed", {"named._note_lost": never(None)}),
    Mutation("7.1 by name: what was not applied is lost", {"named._absent": never(())}, ("path", "recorded")),
    Mutation("7.1 by name: applied twice", {"named._repeated": never(())}, ("path",)),
    Mutation("7.1 by name: applied out of order", {"named._displaced": never(())}, ("path", "recorded")),
    Mutation("7.1 by name: rows that name nothing", {"named._note_rows": named_only}, ("nameless",)),
    Mutation("7.1 by name: kinds that the application has no use for", {"named._taken_up": first(0)},
             ("one_kind",)),
    Mutation("7.1 by name: one of several choices", {"named._choices": never(1)}, ("one_choice",)),
    Mutation("7.1 what a reducer reports as raised is lost", {"named._told_losses": never(())}, ("path",)),
    Mutation("7.1 a reducer that refuses points back", {"refused.refused": never([])}, ("refuses",)),
    Mutation("7.1 a reducer that refuses accuses only behind what is intact", {"refused.refused": every_hop_intact},
             ("fails_closed",)),
    Mutation("7.1 an order whose sender nobody saw", {"order.suspected": first(1)}, ("puts_right_unseen",)),
    Mutation("7.1 a reducer that puts right", {"order.put_right": never("no")}, ("puts_right",)),
    Mutation("7.1 a gateway that puts right", {"excuses.unless_mended": first(0)},
             ("gateway_puts_right", "gateway_fills_a_hole")),
    Mutation("7.1 a parser that puts right", {"handed.unless_mended": first(0)},
             ("parser_puts_right_the_network", "client_puts_right")),
    Mutation("7.1 from the whole text", {"mended._tells_more": never(False)}, ("parser_fills_a_hole",)),
    Mutation("7.1 where the end of its record is lost", {"mended.out_of_turn": lambda _: lambda before, _after:
             before.told(OUT_OF_TURN) or 0}, ("client_puts_right",), ("closing blocks",)),
    Mutation("7.2 rule 10: where the terminator stands", {"attribute.terminator_in_place": never(True)},
             ("network_ends_it_early",), ("5 %", "10 %", "30 %")),
    Mutation("7.2 an event that no blank line closed came as it was sent", {"hops._with_the_rest": first(0)},
             ("network_drops_an_open_end",)),
    Mutation("7.1 what is more than came again", {"mended._beyond": never(None)}, ("gateway_loses_more",)),
    Mutation("7.1 what the application kept", {"kept.judge_kept": first(0)}, ("kept",)),
    Mutation("7.1 what it kept, and did not take up whole", {"kept._took_all": never(True)}, ("kept",)),
    Mutation("7.1 a body that is not what it was announced as", {"parts.misframed": never(False)}, ("lines",)),
)  # fmt: skip


HOP: Final = (
    Mutation("7.2 rule 1: equal counts and sums are intact", {"align.healthy": never(False)}),
    Mutation("7.2 rule 2: no fault without a proof", {"align.proof_of_difference": never("totals")}, _HOPS),
    Mutation("7.2 rule 3: equal beginnings and ends are unchanged", {"align.window": prefix_only}, _HOPS),
    Mutation("7.2 every event in other bytes", {"hops._rewritten": never(False)}, ("every_byte",)),
    Mutation("7.2 rule 4: all rows known, exact counts", {"known.all_known": bare}, _HOPS),
    Mutation("7.2 rule 4: a copy is no invention", {"known.surplus_kind": never("fabricated")}, _HOPS),
    Mutation("7.2 rule 4: an invention is no copy", {"known.surplus_kind": never("duplicate")}, _HOPS),
    Mutation("7.2 rule 5: lost rows are filled in", {"fill.filled": lambda _: lambda a, b, _x, _y: (a, b)}, _HOPS),
    Mutation("7.2 rule 5: never by count alone", {"fill.GUESSES": table_with(0, if_as_long)}, _HOPS),
    Mutation("7.2 rule 5: lost rows are decoded", {"decode.decode": never(None)}, _HOPS),
    Mutation("7.2 rule 5: decoded as one run", {"decode.one_run": never(None)}, ("hop",)),
    Mutation("7.2 rule 5: what is decoded is told", {"known.by_values": never(())}, ("hop",)),
    Mutation("7.2 rule 5: decoded by the sums", {"decode.decode": by_count_alone}, _HOPS),
    Mutation("7.2 rule 5: bounds are bounds", {"lost_rows.bounds": exactly}, _HOPS),
    Mutation("7.2 rule 6: only what B went past was due", {"open_ends.anchor": lambda _: lambda a, _b: a.n}, _HOPS),
    Mutation("7.2 rule 6: what B went past was due", {"open_ends.anchor": never(0)}, _HOPS),
    Mutation("7.2 rule 6: due up to what stands once", {"open_ends._unique_neighbours": never(0)}, ("stops_soon",)),
    Mutation("7.2 rule 6: due up to a run that is no accident", {"open_ends._long_run": never(0)}, ("stops_late",)),
    Mutation("7.2 rule 6: what B has and A had not", {"open_ends._surplus": never([])}, ("few_words", "hop")),
    Mutation("7.2 rule 6: not by a run that may be an accident", {"open_ends._CHANCE": lambda _: 0.1},
             ("few_words",)),
    Mutation("7.2 rule 7: no additions where A has not closed", {"open_ends.may_tell_additions": never(True)}, _HOPS),
    Mutation("7.2 rule 7: additions where A has closed", {"open_ends.may_tell_additions": never(False)}, _HOPS),
    Mutation("7.2 rule 8: a lost run slides over equal neighbours", {"known.slide": not_slid, "known.left_over":
             only_there}, _HOPS),
    Mutation("7.2 rule 8: what is lost may be equal to its neighbour", {"known._may_equal": never(False)}, ("hop",)),
    Mutation("7.2 rule 8: and what is known may not", {"known._may_equal": never(True)}, ("hop",)),
    Mutation("7.2 rule 8: others than one run may be lost", {"known.left_over": only_there}, _HOPS),
    Mutation("7.2 rule 8: any copy may be the one", {"known.copies_of": first_copy}, ("far_apart",)),
    Mutation("7.2 rule 8: all shortest explanations", {"edits.edits": one_explanation}, _HOPS),
    Mutation("7.2 rule 9: numbers first", {"numbered.judge_numbered": never(None)}, ("numbered",)),
    Mutation("7.2 rule 9: what bears another's number", {"numbered._foreign": never([])}, ("numbered",)),
    Mutation("7.2 rule 9: a number that never came", {"numbered._missing": never(())}, ("numbered",)),
    Mutation("7.2 rule 9: a number that came twice", {"numbered._again": never(())}, ("numbered",)),
    Mutation("7.2 rule 9: numbers out of order", {"numbered._moved": never(())}, ("numbered",)),
    Mutation("7.2 rule 9: other bytes under a number", {"numbered._changed": never(())}, ("numbered",)),
    Mutation("7.2 rule 9: what never had a number", {"numbered._added": never(())}, ("numbered",)),
    Mutation("7.2 rule 10: around an unproven hop", {"attribute.around_unproven": lambda _: lambda steps:
             (list(steps), [])}, ("path", "recorded")),
    Mutation("7.2 rule 10: only where both count the same events", {"attribute._comparable": never(True)},
             ("path", "recorded")),
    Mutation("7.2 rule 10: only as far as it was due", {"attribute.around_unproven": all_settled},
             ("path", "recorded")),
    Mutation("7.2 rule 10: what is no output came as well", {"attribute._all_came": never(True)}, ("no_output",),
             ("closing blocks",)),
    Mutation("a closing block's second copy", {"records.collect": without_summaries}, _HOPS),
    Mutation("7.2 parsed: what a parser keeps to itself", {"parts.withholds": never(False)}, ("withholds",)),
    Mutation("7.2 parsed: the same content in other pieces", {"handed.same_slots": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: other pieces prove nothing", {"handed._new_pieces": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: what is promised of a watched parser proves nothing", {"handed.event_by_event":
             as_promised}, ("cuts_anew",)),
    Mutation("7.2 parsed: nor once somebody stops", {"handed.event_by_event": as_promised}, ("cuts_anew_and_stops",),
             ("none",)),
    Mutation("7.2 parsed: nor that it reads to the end", {"hops.event_by_event": as_promised}, ("returns_early",)),
    Mutation("7.2 parsed: calls under one number", {"handed._with_numbers": first(0)}, ("one_number",)),
    Mutation("7.2 parsed: finishes are counted by choices", {"handed._finished_alike": lambda _: lambda before, after:
             before.part("finish") == after.part("finish")}, ("joins_choices",)),
    Mutation("7.2 parsed: one that asks again by itself", {"handed.RULES": left_out(handed._of_another_answer)},
             ("asks_again",)),
    Mutation("7.2 parsed: a choice finishes once", {"handed._finished_alike": lambda _: lambda before, after:
             finishes(before) == finishes(after)}, ("finishes_twice",)),
    Mutation("7.2 parsed: nothing is due behind a terminator", {"parts.may_go_on_behind_terminal": never(False)},
             ("behind_the_end",)),
    Mutation("7.2 parsed: who reads by lines", {"parts.stopped_within_an_event": never(False)},
             ("by_lines", "reads_by_lines")),
    Mutation("7.2 parsed: a swallowed error", {"hops._with_error": first(0)}, ("parser_swallows",)),
)  # fmt: skip

REPEATED: Final = {
    "unchanged": "`one_changed` finds that, too: it is there for speed",
}
"""Guess → why nothing is missed without it."""


def mutations() -> tuple[Mutation, ...]:
    """All of them: those of the tables here, and each entry of the judge's tables, so that none can be forgotten."""
    guessed = (
        Mutation(f"7.2 rule 5: filled in, {guess.__name__}", {"fill.GUESSES": left_out(guess)}, ("hop",))
        for guess in fill.GUESSES
        if guess.__name__ not in REPEATED
    )
    return (*BLAME, *HOP, *guessed, *GATEWAY, *excused(), *CLIENT, *SOURCE, *TIMES, *EXCHANGES)
