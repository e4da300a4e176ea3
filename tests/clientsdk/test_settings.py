"""Settings from arguments, variables and defaults, and what is said about a wrong one."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

import pytest

from streamwitness.commands import GROUP, Command
from streamwitness.settings import NAMES, SettingsError, load, nearest, options, require, setting


@dataclass(frozen=True)
class Example:
    """One field of every type."""

    endpoint: str = setting("http://127.0.0.1:4318", "where to send")
    port: int = setting(4318, "port to listen on")
    sample: float = setting(1.0, "share of streams")
    also_trace: bool = setting(False, "send to the host's tracer as well")
    origins: tuple[str, ...] = setting((), "gateway origins")
    mode: Literal["off", "observe"] = setting("observe", "what to do")
    key: str = setting("", "ingest key", secret=True)
    database: str | None = setting(None, "where to store")
    token: int = setting(0, "a number nobody may see", secret=True)

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "port", self.port, "0 to 65535")


def _env(**given: str) -> dict[str, str]:
    return {f"STREAMWITNESS_{name.upper()}": text for name, text in given.items()}


def test_defaults_stand_where_nothing_is_given() -> None:
    """Nothing given, or given empty or None, means the default; the result cannot be changed."""
    assert load(Example, environ={}) == Example()
    assert load(Example, environ=_env(port="", mode="  "), overrides={"endpoint": None}) == Example()
    with pytest.raises(FrozenInstanceError):
        Example().port = 1  # type: ignore[misc]


def test_an_argument_wins_over_a_variable_and_that_over_the_default() -> None:
    """The order of precedence."""
    both = load(Example, environ=_env(port="1", mode="off"), overrides={"port": 2})
    assert (both.port, both.mode, both.sample) == (2, "off", 1.0)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("endpoint", "http://x", "http://x"),
        ("port", " 0 ", 0),
        ("sample", "0.25", 0.25),
        ("also_trace", "Yes", True),
        ("also_trace", "0", False),
        ("origins", "http://a, http://b,", ("http://a", "http://b")),
        ("mode", "off", "off"),
        ("database", "x.db", "x.db"),
    ],
)
def test_texts_become_the_fields_type(name: str, text: str, expected: Any) -> None:
    """A text means the same as variable and as option."""
    assert getattr(load(Example, environ=_env(**{name: text})), name) == expected
    assert getattr(load(Example, environ={}, overrides={name: text}), name) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("origins", ["a"], ("a",)), ("sample", 1, 1.0), ("also_trace", True, True), ("port", 7, 7)],
)
def test_an_argument_may_be_of_the_type_already(name: str, value: Any, expected: Any) -> None:
    """Callers need not turn values into texts."""
    assert getattr(load(Example, environ={}, overrides={name: value}), name) == expected


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("port", "http", "'http'; possible: a whole number"),
        ("port", "tcp://10.0.0.1:4318", "a whole number"),
        ("port", "70000", "70000; possible: 0 to 65535"),
        ("port", True, "a whole number"),
        ("sample", "all", "a number"),
        ("also_trace", "maybe", "true or false"),
        ("mode", "observ", "off, observe .did you mean 'observe'?"),
        ("mode", 3, "3"),
        ("origins", [1], "separated by commas"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_possible(name: str, value: Any, said: str) -> None:
    """The message names option and variable, the value, and what would be right."""
    with pytest.raises(SettingsError, match=f"^--{name.replace('_', '-')} .STREAMWITNESS_{name.upper()}. is .*{said}"):
        load(Example, environ={}, overrides={name: value})


def test_a_secret_is_never_shown() -> None:
    """A wrong secret is named without its value."""
    with pytest.raises(SettingsError, match=r"STREAMWITNESS_TOKEN. is not understood") as caught:
        load(Example, environ=_env(token="hush"))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("ENDPONT", "ENDPOINT"),
        ("PROT", "PORT"),
        ("KAFAK", "KAFKA"),
        ("ORIGIN", "ORIGINS"),
        ("SETTLEAFTER", "SETTLE_AFTER"),
    ],
)
def test_a_misspelled_variable_is_named_with_the_nearest_known_one(variable: str, meant: str) -> None:
    """Also where the known one belongs to another part."""
    with pytest.raises(SettingsError, match=f"STREAMWITNESS_{variable}; did you mean STREAMWITNESS_{meant}?"):
        load(Example, environ={f"STREAMWITNESS_{variable}": "x"})


@pytest.mark.parametrize(
    "variable",
    [
        "STREAMWITNESS_KAFKA",
        "STREAMWITNESS_REQUIRE",
        "STREAMWITNESS_COLLECTOR_SERVICE_HOST",
        "STREAMWITNESS_COLLECTOR_PORT_4318_TCP_ADDR",
        "OTHER_ENDPONT",
    ],
)
def test_variables_of_others_are_no_misspelling(variable: str) -> None:
    """Another part's, the tests', what Kubernetes sets for a service of that name, and another prefix's."""
    assert load(Example, environ={variable: "x"}) == Example()


def test_an_unknown_argument_is_named_with_the_nearest_known_one() -> None:
    """An argument that no field has is always a fault."""
    with pytest.raises(SettingsError, match=r"'endpont'; did you mean 'endpoint'\?"):
        load(Example, environ={}, overrides={"endpont": "x"})
    with pytest.raises(SettingsError, match="'zzz'; known: endpoint, port"):
        load(Example, environ={}, overrides={"zzz": "x"})


def test_another_prefix_may_be_used() -> None:
    """A test or an embedding program may read other variables."""
    assert load(Example, environ={"MY_PORT": "7", "STREAMWITNESS_PORT": "8"}, prefix="MY_").port == 7


def test_nearest_is_silent_about_strangers() -> None:
    """A word that resembles nothing has no nearest word."""
    assert (nearest("kafak", ["kafka", "port"]), nearest("banana", ["kafka", "port"])) == ("kafka", None)


def test_one_table_gives_option_variable_help_and_default() -> None:
    """What command line and documentation derive from."""
    table = {option.name: option for option in options(Example)}
    mode = table["mode"]
    assert (mode.flag, mode.variable, mode.help, mode.default_text) == (
        "--mode", "STREAMWITNESS_MODE", "what to do", "observe",
    )  # fmt: skip
    assert mode.choices == ("off", "observe")
    assert table["also_trace"].flag == "--also-trace"
    assert (table["database"].kind, table["database"].default_text) == (str, "")
    assert table["key"].secret


def _installed() -> list[Command]:
    return [
        command for point in entry_points(group=GROUP) if not isinstance(command := _loaded(point), ModuleNotFoundError)
    ]


def _loaded(point: Any) -> Any:
    try:
        return point.load()
    except ModuleNotFoundError as missing:
        return missing


def test_every_setting_of_every_installed_command_is_in_the_table() -> None:
    """A setting that is not in NAMES would be taken for a misspelling by the other parts."""
    known = {name for names in NAMES.values() for name in names}
    assert _installed()
    for command in _installed():
        if command.settings is not None:
            assert {option.name for option in options(command.settings)} <= known


def test_every_setting_of_every_installed_command_is_documented() -> None:
    """Each has a help text, which options and documentation show."""
    for command in _installed():
        if command.settings is not None:
            assert [option.name for option in options(command.settings) if not option.help] == []
