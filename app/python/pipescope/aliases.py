"""The names of the frameworks themselves: after install(), `import poptorch` imports pipescope.poptorch."""

import importlib
import importlib.abc
import importlib.util
import os
import sys

NAMES = {
    "libpvti": "pipescope.pvti",
    "lightning": "pipescope.lightning",
    "popart": "pipescope.popart",
    "popdist": "pipescope.popdist",
    "poptorch": "pipescope.poptorch",
    "pva": "pipescope.pva",
    "pytorch_lightning": "pipescope.lightning",
}
#: The folder with a file for each name, for the path of programs.
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names")
# The content of these modules of the frameworks is in a module with another name here.
_PARTS = {
    "poptorch.poptorch_core": "pipescope.poptorch.errors",
    "poptorch.autocasting": "pipescope.poptorch.precision_options",
    "pytorch_lightning.accelerators.hpu": "pipescope.lightning.accelerators",
    "pytorch_lightning.accelerators.ipu": "pipescope.lightning.accelerators",
    "pytorch_lightning.callbacks.device_stats_monitor": "pipescope.lightning.callbacks",
    "pytorch_lightning.callbacks.early_stopping": "pipescope.lightning.callbacks",
    "pytorch_lightning.callbacks.model_checkpoint": "pipescope.lightning.callbacks",
    "pytorch_lightning.loggers.csv_logs": "pipescope.lightning.loggers",
    "pytorch_lightning.loggers.tensorboard": "pipescope.lightning.loggers",
    "pytorch_lightning.plugins.precision": "pipescope.lightning.plugins",
    "pytorch_lightning.strategies.hpu_parallel": "pipescope.lightning.strategies",
    "pytorch_lightning.strategies.ipu": "pipescope.lightning.strategies",
    "pytorch_lightning.strategies.single_hpu": "pipescope.lightning.strategies",
    "pytorch_lightning.utilities": "pipescope.lightning.errors",
    "pytorch_lightning.utilities.exceptions": "pipescope.lightning.errors",
}


class _Loader(importlib.abc.Loader):
    def __init__(self, target):
        self._target = target

    def create_module(self, spec):
        module = importlib.import_module(self._target)
        if not hasattr(module, "__path__"):
            module.__path__ = []  # so that Python looks for parts of it
        return module

    def exec_module(self, module):
        """The module has run already."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of some of the names."""

    def __init__(self):
        self.names = set()

    def find_spec(self, asked, path=None, target=None):
        name = asked
        top, _, rest = name.partition(".")
        if top not in self.names:
            return None
        if top == "lightning" and (rest == "pytorch" or rest.startswith("pytorch.")):
            rest = rest[len("pytorch") :].lstrip(".")  # Lightning 2 has two names
            name = "pytorch_lightning" + ("." + rest if rest else "")
        real = NAMES[top] + ("." + rest if rest else "")
        real = _PARTS.get(name, real)
        if importlib.util.find_spec(real) is None:
            return None
        return importlib.util.spec_from_loader(asked, _Loader(real))


def is_alias(name):
    """Return True if importing this name gives a module of this package."""
    spec = importlib.util.find_spec(name)
    return isinstance(getattr(spec, "loader", None), _Loader) or os.path.dirname(getattr(spec, "origin", None) or "") == _FOLDER


def install(names=tuple(NAMES)):
    """Let programs import the frameworks by these names. Installed ones of these are hidden."""
    finder = next((each for each in sys.meta_path if isinstance(each, _Finder)), None)
    if finder is None:
        finder = _Finder()
        sys.meta_path.insert(0, finder)
    finder.names.update(names)


def take_over(name):
    """Make the module that is being imported under one of the names the one of this package. The files of `names` call it.

    Other names stay with what is installed under them.
    """
    install([name])
    sys.modules.pop(name, None)
    importlib.import_module(name)


def install_for_children():
    """Let Python programs that this process starts find the names, too: a folder with them goes to the front of their path."""
    package = os.path.dirname(os.path.dirname(_FOLDER))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join([*(each for each in (_FOLDER, package) if each not in paths), *paths])
