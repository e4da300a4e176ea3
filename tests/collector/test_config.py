"""The collector's settings: keys, roles and bounds that fit each other."""

from __future__ import annotations

from typing import Any

import pytest

from streamwitness.settings import SettingsError, load
from streamwitness_collector.config import CollectorSettings, role_lookup


def _load(**given: Any) -> CollectorSettings:
    return load(CollectorSettings, environ={}, overrides=given)


def test_without_keys_everybody_has_the_default_role() -> None:
    """Local development needs no key; what such requests may say is a setting."""
    assert role_lookup(_load())("") == "any"
    assert role_lookup(_load(default_role="client"))("whatever") == "client"


def test_each_key_has_its_role_and_others_have_none() -> None:
    """With keys configured, only they count; a key may hold a colon."""
    role_of = role_lookup(_load(keys="gateway:g1,client:c:1,any:ä"))
    assert [role_of(key) for key in ("g1", "c:1", "ä", "c", "", "x")] == ["gateway", "client", "any", None, None, None]


@pytest.mark.parametrize(
    "keys", ["admin:hush-hush", "hush-hush", "client:", "client:a,gateway:hush-hush,any:hush-hush"]
)
def test_a_wrong_key_entry_is_named_by_number_and_never_shown(keys: str) -> None:
    """What is wrong with the keys is said without showing one."""
    with pytest.raises(SettingsError, match=r"STREAMWITNESS_KEYS\): entry \d") as caught:
        _load(keys=keys)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"port": 65536},
        {"kafka_timeout": 0.0},
        {"topic": " "},
        {"kafka": "localhost"},
        {"kafka": (",")},
        {"max_body_bytes": 0},
        {"max_span_bytes": 1 << 20},
        {"max_waiting_bytes": 1 << 20},
        {"default_role": "admin"},
        {"kafka_compression": "snappy"},
    ],
)
def test_impossible_values_are_refused_by_name(given: dict[str, Any]) -> None:
    """An impossible value is refused at start, naming option and variable."""
    [name] = given
    with pytest.raises(SettingsError, match=f"--{name.replace('_', '-')} \\(STREAMWITNESS_{name.upper()}\\)"):
        _load(**given)
