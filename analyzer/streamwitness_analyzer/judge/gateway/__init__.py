"""Upstream response and answer: which leg feeds it, and what excuses a gateway (docs/design.md §7.2)."""
