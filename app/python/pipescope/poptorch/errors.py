"""The error that models raise, and the place in the user's code that it names."""

import enum
import os
import traceback

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(RuntimeError):
    """A model, an option or a call was refused. The text says what, where, and what to do."""

    _component = ""

    @property
    def message(self):
        """The text."""
        return str(self)

    @property
    def type(self):
        """The component that raised it, or the name of the class."""
        return self._component or self.__class__.__name__

    @property
    def location(self):
        """The place in the user's code, which is part of the text where one is known."""
        return ""


class OptionError(ValueError, AssertionError):
    """An option got a value that it cannot have."""


class StateError(Error, AssertionError):
    """A model was asked for what it has only after it was compiled or called."""


class RecoverableError(Error):
    """An error of a machine, after which it can be used again. Emulated devices raise none."""

    recovery_action = "NONE"


class UnrecoverableError(Error):
    """An error of a machine, after which it cannot be used again. Emulated devices raise none."""


class CompileError(Error, ValueError):
    """A model was refused when it was compiled, which is bad input, too."""


class ArgumentError(Error, ValueError):
    """A function of this package got an argument that it cannot take."""


class TestErrorType(enum.Enum):
    """The kinds of errors with which a program can try its own handling of errors (poptorch.poptorch_core)."""

    Popart = "popart_exception"
    PopartInternal = "popart_internal_exception"
    Poplibs = "poplibs_exception"
    PoplarUnrecoverable = "poplar_unrecoverable_runtime_error"
    PoplarUnknown = "poplar_unknown_runtime_error"
    PoplarRecoverableFullReset = "poplar_recoverable_runtime_error"
    PoplarLinkError = "poplar_link_error"


def _throwTestError(kind):
    """Raise an error of this kind (TestErrorType), as machines can raise them. Emulated devices raise none of them themselves."""
    kind = TestErrorType(kind)
    classes = {TestErrorType.PoplarUnrecoverable: UnrecoverableError, TestErrorType.PoplarRecoverableFullReset: RecoverableError}
    error = classes.get(kind, Error)(f"The program asked for an error of the kind {kind.value}.")
    error._component = kind.value
    if kind == TestErrorType.PoplarRecoverableFullReset:
        error.recovery_action = "FULL_RESET"
    raise error


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
