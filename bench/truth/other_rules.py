"""The rules of clients, of the source, of times, and of several exchanges (docs/design.md §7.1 to §7.3, §7.9)."""

from __future__ import annotations

from typing import Final

from .instead import Mutation, first, never, said

_LOSSY: Final = ("10 %", "30 %", "30 % in bursts", "cut by limits", "closing blocks")

CLIENT: Final = (
    Mutation("7.2 lenient: bytes that not every reader takes", {"lenient.but_for_odd_bytes": first(0)},
             ("odd_bytes",)),
    Mutation("7.2 lenient: changes that touch such an event", {"lenient._touches": never(False)}, ("odd_bytes",)),
    Mutation("7.2 lenient: a call without arguments is implied", {"lenient.implied": never(False)}, ("implied",)),
    Mutation("7.1 by name: kinds of output in turns of their own", {"apart.kinds_of": never(None)},
             ("kinds_apart",)),
    Mutation("7.1 by name: what is not known of what was handed on", {"named._in_doubt": never(False)},
             ("forgets",), _LOSSY),
    Mutation("7.1 by name: what a lost block skipped", {"named._skipped": never(())}, ("forgets",), _LOSSY),
    Mutation("7.1 by name: a result may clear what only follows from reports", {"named._may_be_refuted": never(False)},
             ("joins_in_place", "renders_twice", "joins_and_leaves"), ("none", "closing blocks")),
    Mutation("7.1 by name: several who report to one record", {"named.shared": never(False)}, ("two_at_once",)),
    Mutation("7.3 who goes on may have had what comes first", {"resumed._at_the_head": never(False)},
             ("had_the_first",)),
    Mutation("7.3 who goes on shows what he had, too", {"kept.goes_on": never(False)}, ("had_the_first",)),
    Mutation("7.3 what one of several shows", {"kept.shared": never(False)}, ("two_of_which_one_shows",)),
    Mutation("7.1 by name: a record behind another one", {"named._behind_another": never(False)},
             ("another_goes_on",), ("a whole point",)),
    Mutation("7.1 by name: what came too late of a kind", {"apart.passed": never(True)},
             ("leaves_thoughts_for_later",)),
    Mutation("7.2 parsed: the whole content tells", {"handed._whole_content_told": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: without it nothing does", {"handed._whole_content_told": never(True)}, ("cuts_anew",)),
    Mutation("7.2 parsed: one that may have though all came", {"hops._may_have_returned": never(False)},
             ("returns_though_all_came",)),
    Mutation("7.2 parsed: nor is it intact then", {"hops._unless_returned": first(0)}, ("returns_though_all_came",)),
    Mutation("7.2 parsed: one that may have returned by itself", {"hops._may_have_returned": never(False)},
             ("returns_early",), ("closing blocks",)),
    Mutation("7.2 parsed: a body whose own record does not tell what it was", {"hops._misread": never(False)},
             ("lines",), ("closing blocks", "a whole point")),
    Mutation("7.2 parsed: what is cut anew is told as a whole", {"handed._cut_anew": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: the same content is intact", {"handed._same_content": never(None)}, ("cuts_anew",)),
    Mutation("7.2 parsed: as many finishes are the same", {"handed._finished_alike": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: another finish", {"handed._with_finish": first(0)}, ("other_end",)),
    Mutation("7.1 what it kept beside what it was given", {"kept._comparable": never([])}, ("kept",)),
    Mutation("7.1 events of another stream that were built in", {"refused.mixed_up": never([])}, ("mixed_up",)),
)  # fmt: skip

SOURCE: Final = (
    Mutation("7.1 by itself: what one record proves alone", {"attribute.Fault.by_itself": said(False)}, ("gateways",)),
    Mutation("7.3 source: what its stream gives away", {"source.source_faults": never([])}, ("mends_an_event",)),
    Mutation("7.3 source: what its numbers and its whole text tell", {"source._told": never(())}, ("hole",)),
)

TIMES: Final = (
    Mutation("7.3 times: what was held back", {"waiting.held_back": never([])}, ("holds_back",)),
    Mutation("7.3 times: who did not ask for more holds nothing back", {"waiting.held_ms": never(0)},
             ("holds_back", "did_not_ask")),
    Mutation("7.3 times: a machine that slept", {"waiting.stepped": never(False)}, ("holds_back",)),
    Mutation("7.3 times: a library that gathers", {"waiting.gathered": never(False)}, ("held_on_the_way",)),
    Mutation("7.3 times: one event for one", {"hops._one_for_one": never(True)}, ("hedges",)),
    Mutation("7.3 times: a gateway that reads on", {"waste.kept_running": never([])}, ("keeps_running",)),
    Mutation("7.3 times: one that only works off what it has", {"waste._waited": never(True)}, ("keeps_running",)),
    Mutation("7.3 times: held on the way", {"waiting._on_the_way": never([])}, ("held_on_the_way",)),
    Mutation("7.4 stalls: a client that asked in vain", {"stalls.silence": never(None)}, ("waits_for_the_way",)),
    Mutation("7.4 stalls: where progress stopped", {"stalls._where": never(None)}, ("waits_for_the_gateway",)),
    Mutation("7.4 stalls: what the gateway had in hand", {"stalls._had_more_since": never(None)},
             ("waits_for_the_gateway",)),
    Mutation("7.4 stalls: an event that nothing tells of but that it was kept", {"stalls._kept_its_first_ms": never(0)},
             ("keeps_the_first",)),
    Mutation("7.4 stalls: what the next step waits for",
             {"records.Exchange.unanswered": lambda _: property(lambda _: 0)},
             ("waits_for_the_next_step",)),
    Mutation("7.4 refusals: nothing where something was sent", {"states._came_to_nothing": never(True)},
             ("read_unseen",)),
    Mutation("7.2 refusals: nothing beside a response that answered", {"records.Exchange.legs": lambda _: property(
             lambda exchange: exchange.at("ingress"))}, ("asked_again",)),
)  # fmt: skip

EXCHANGES: Final = (
    Mutation("7.9 exchanges: a loss that a later one makes good", {"together.recovery": never("lost")}, ("resumed",)),
    Mutation("7.9 exchanges: a loss that none makes good", {"together.recovery": never("recovered")}, ("resumed",)),
    Mutation("7.9 exchanges: what a later one brought", {"together._brought": never(None)}, ("resumed",)),
    Mutation("7.9 exchanges: a gateway that reads no provider", {"together.reads_a_provider": never(True)},
             ("gateways",)),
    Mutation("7.9 exchanges: what is not known between them", {"together.doubts": never([])},
             ("forgets_the_rest", "gateways")),
    Mutation("7.9 exchanges: the rest of an answer", {"together._continues": never(True)}, ("forgets_the_rest",)),
    Mutation("7.9 exchanges: from gateway to gateway", {"together.handed_over": never(True)}, ("gateways",)),
    Mutation("7.9 exchanges: an upstream that broke before", {"together.upstream_state": never("none"),
             "together.cut_upstream": never(False)}, ("cut_before",)),
    Mutation("7.9 exchanges: an ending told from behind", {"together.told_from_behind": first(0)}, ("cut_behind",)),
)  # fmt: skip
