"""instrument() of everything: classes of libraries are patched, those imported now at once, the others when they are.

A library that the host never imports is never loaded for it. One that comes later is noticed by a finder in front of
`sys.meta_path`, which lets the real finders find it and steps aside: it wraps the loader for the one call that
executes the package, then patches it. What is patched are public methods of classes, so clients that exist already
and clients of subclasses are covered too. `Patches.undo` puts back what was there, the very same objects.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .tap import safely

Patch = Callable[[ModuleType, "Patches"], None]
"""Patches the classes of an imported package."""


_carrying: ContextVar[Carrying | None] = ContextVar("streamwitness_carrying", default=None)


class Carrying:
    """Around the sending of a request: what another library of ours does meanwhile is its transport, and not observed.

    One body has one tap, the outermost (openai's client over aiohttp is an httpx2 client over an aiohttp session).
    Tasks that outlive the sending are free again.
    """

    __slots__ = ("_token", "over")

    def __enter__(self) -> None:
        self.over = False
        self._token = _carrying.set(self)

    def __exit__(self, *_: object) -> None:
        self.over = True
        _carrying.reset(self._token)


class Patches:
    """Attributes of foreign classes that were replaced, and the clients that were hooked one by one because of it."""

    def __init__(self, instrument: Callable[[Any], Any], uninstrument: Callable[[Any], None]) -> None:
        self.live = True
        """Whether the replacements still act: one that somebody else has wrapped since cannot be taken out."""
        self._instrument, self._uninstrument = instrument, uninstrument
        self._replaced: list[tuple[type, str, Any, Any]] = []
        self._adopted: weakref.WeakSet[Any] = weakref.WeakSet()

    def put(self, cls: type, name: str, make: Callable[[Any], Any]) -> None:
        """Replace a method where `cls` has it from, by what `make` makes of it."""
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None:
            raise TypeError(f"{cls.__module__}.{cls.__name__} has no {name}")
        if any(one is owner and method == name for one, method, _, _ in self._replaced):
            return
        original = vars(owner)[name]
        replacement = make(original)
        setattr(owner, name, replacement)
        self._replaced.append((owner, name, original, replacement))

    def adopt(self, client: Any) -> None:
        """Hook a client that nobody has hooked yet, because it is being used; not as another one's transport."""
        carrying = _carrying.get()
        if self.live and client not in self._adopted and (carrying is None or carrying.over):
            self._instrument(client)
            self._adopted.add(client)

    def keep(self, client: Any) -> None:
        """This client was instrumented by its owner: it stays so when the patches come off."""
        self._adopted.discard(client)

    def undo(self) -> None:
        """Put everything back. Where somebody has replaced our replacement, it stays within theirs and does nothing."""
        self.live = False
        for owner, name, original, replacement in reversed(self._replaced):
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)
        for client in list(self._adopted):
            self._uninstrument(client)
        self._replaced.clear()
        self._adopted.clear()


class Watch(MetaPathFinder):
    """A finder that finds nothing by itself: it has the packages of a table patched once they have been imported."""

    def __init__(self, table: Mapping[str, Patch], patches: Patches) -> None:
        self._table, self._patches = table, patches

    def start(self) -> None:
        """Patch what is there, and look out for the rest."""
        sys.meta_path.insert(0, self)
        for name in self._table:
            module = sys.modules.get(name)
            if module is not None and not getattr(module.__spec__, "_initializing", False):
                self.imported(module)

    def stop(self) -> None:
        """Look out no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def imported(self, module: ModuleType) -> None:
        """Patch a package that is there; one that is imported anew has classes of its own. Never raises."""
        if self._patches.live:
            safely("client.everywhere", lambda: self._table[module.__name__](module, self._patches))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that tells us when the package is there."""
        if fullname not in self._table:
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Telling(spec.loader, self.imported)
        return spec


class _Telling(Loader):
    """A package's own loader, which tells when it has executed the package, and is put back before it does."""

    def __init__(self, loader: Any, tell: Callable[[ModuleType], None]) -> None:
        self._loader, self._tell = loader, tell

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # not set yet: an object half made has nothing to delegate to
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the package's own loader."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """As the package's own loader, then tell."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._tell(module)
