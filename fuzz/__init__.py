"""Mutated bodies through every framing, profile and reducer: events or an error of ours, nothing else, memory flat."""
