"""The names of the frameworks themselves: after install(), `import poptorch` imports pipescope.poptorch."""

import importlib
import importlib.abc
import importlib.util
import sys

NAMES = {
    "poptorch": "pipescope.poptorch",
    "popdist": "pipescope.popdist",
    "pytorch_lightning": "pipescope.lightning",
}


class _Loader(importlib.abc.Loader):
    def __init__(self, target):
        self._target = target

    def create_module(self, spec):
        return importlib.import_module(self._target)

    def exec_module(self, module):
        """The module has run already."""


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top not in NAMES:
            return None
        real = NAMES[top] + ("." + rest if rest else "")
        if importlib.util.find_spec(real) is None:
            return None
        return importlib.util.spec_from_loader(name, _Loader(real))


def is_alias(name):
    """Return True if importing this name gives a module of this package."""
    return isinstance(getattr(importlib.util.find_spec(name), "loader", None), _Loader)


def install():
    """Let programs import poptorch, popdist and pytorch_lightning by these names. Installed ones of these are hidden."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
