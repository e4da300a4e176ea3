"""Settings: database names, bounds, and that no secret is shown."""

from __future__ import annotations

import pytest

from streamwitness.settings import SettingsError, load, options
from streamwitness_analyzer.config import AnalyzerSettings, DatabaseNameError, ReaderSettings, UpSettings, database_url


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("some.db", "sqlite:///some.db"),
        ("/var/lib/some.db", "sqlite:////var/lib/some.db"),
        ("sqlite:///some.db", "sqlite:///some.db"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
    ],
)
def test_a_database_is_a_url_or_a_file(name: str, url: str) -> None:
    """The driver is ours to know."""
    assert database_url(name) == url


@pytest.mark.parametrize("name", ["", "mysql://x/y"])
def test_an_unknown_database_is_refused(name: str) -> None:
    """With what is known."""
    with pytest.raises(DatabaseNameError):
        database_url(name)


@pytest.mark.parametrize(
    ("cls", "name", "value", "said"),
    [
        (AnalyzerSettings, "settle_after", "-1", "--settle-after"),
        (AnalyzerSettings, "default_role", "root", "gateway"),
        (AnalyzerSettings, "port", "70000", "0 to 65535"),
        (AnalyzerSettings, "database", "mysql://user:secret@x/y", "no database is called 'mysql'"),
        (UpSettings, "max_blocks", "0", "a number above 0"),
        (UpSettings, "idle_after", "-1", "--idle-after"),
        (ReaderSettings, "server", "localhost", "http://host:port"),
    ],
)
def test_an_impossible_value_is_named(cls: type, name: str, value: str, said: str) -> None:
    """With the option and what is possible, never with a password."""
    with pytest.raises(SettingsError) as error:
        load(cls, environ={}, overrides={name: value})
    assert said in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("cls", [AnalyzerSettings, UpSettings, ReaderSettings])
def test_every_setting_has_a_text_and_secrets_are_marked(cls: type) -> None:
    """For --help and the docs."""
    for option in options(cls):
        assert option.help
        assert option.secret == ("key" in option.name)
