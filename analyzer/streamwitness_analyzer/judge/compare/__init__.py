"""Two points side by side: what differs, and what of that is proven (docs/design.md §7.2)."""
