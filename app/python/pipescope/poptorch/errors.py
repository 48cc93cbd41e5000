"""The error that models raise, and the place in the user's code that it names."""

import os
import traceback

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(RuntimeError):
    """A model, an option or a call was refused. The text says what, where, and what to do."""


class RecoverableError(Error):
    """An error of a machine, after which it can be used again. Emulated devices raise none."""


class UnrecoverableError(Error):
    """An error of a machine, after which it cannot be used again. Emulated devices raise none."""


class CompileError(Error, ValueError):
    """A model was refused when it was compiled, which is bad input, too."""


class ArgumentError(Error, ValueError):
    """A function of this package got an argument that it cannot take."""


def user_line(frames):
    """Return "file:line (code)" of the innermost frame outside this package and torch, or "" without one."""
    for frame in reversed(frames):
        folders = os.path.normpath(frame.filename).split(os.sep)
        if frame.filename.startswith(_HERE) or "torch" in folders or "contextlib.py" in folders:
            continue
        return f"{frame.filename}:{frame.lineno} ({frame.line})"
    return ""


def caller_line():
    """Return the line of the user's code that is running now."""
    return user_line(traceback.extract_stack())
