"""Events of the vectors with something else in one place, for tests that read them in several ways."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

VALUES: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([10**30, 1.0, 2.5, [], {}, ["a"], {"text": "a"}, [{"type": "text"}]]),
    st.text(max_size=3),
)


def spoiled(data: st.DataObject, value: Any) -> Any:
    """The value with one place, somewhere in it, replaced."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 5)):
        key = data.draw(st.sampled_from(sorted(value)))
        return value | {key: spoiled(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 5)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], spoiled(data, value[place]), *value[place + 1 :]]
    return data.draw(VALUES)
