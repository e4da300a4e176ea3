"""How a stream ended, when, and by whom (docs/design.md §7.4)."""
