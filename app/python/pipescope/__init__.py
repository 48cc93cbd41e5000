"""Profiles of models on emulated IPUs and Gaudis.

`openReport(path)` opens a profile and offers it under the names of Graphcore's libpva; `run(config, output)` runs a
configuration and writes a profile. Everything is implemented in the extension module `_pipescope`.
"""
import threading

from pipescope import _pipescope
from pipescope._pipescope import *  # noqa: F401,F403
from pipescope._pipescope import __version__  # noqa: F401

from pipescope import pva as _pva  # noqa: F401  (adds properties to the classes above)
from pipescope.pva import ProgramVisitor, openReport  # noqa: F401

__all__ = [name for name in dir(_pipescope) if not name.startswith("_")]

# Profiles name the threads of the host.
if threading.current_thread() is threading.main_thread():
    _pipescope.host.name_thread("main")
