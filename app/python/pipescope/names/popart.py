"""Stands on the path for `import popart`, which gives Pipescope's module of this name."""
from pipescope import aliases

aliases.take_over(__name__)
