"""Profiles of models on emulated IPUs and Gaudis.

`openReport(path)` opens a profile and offers it under the names of Graphcore's libpva; `run(config, output)` runs a
configuration and writes a profile. Everything is implemented in the extension module `_pipescope`.
"""
from pipescope import _pipescope
from pipescope._pipescope import *  # noqa: F401,F403
from pipescope._pipescope import __version__  # noqa: F401

__all__ = [name for name in dir(_pipescope) if not name.startswith("_")]
