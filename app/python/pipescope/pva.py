"""The names of Graphcore's libpva: `import pva` of a program that `pipescope run-python` runs.

The classes are those of the extension module. What libpva's objects offer in another form is added to them here: lists that
are also functions, versions, and the calls of a visitor by type of program.
"""

import enum

from pipescope import _pipescope
from pipescope._pipescope import *  # noqa: F401,F403
from pipescope.marks import Event, Process, Thread, Trace, openTrace  # noqa: F401


class Version:
    """The version of the program that wrote a profile."""

    def __init__(self, text):
        numbers = [int(part) for part in text.split("-")[0].split(".") if part.isdigit()] + [0, 0, 0]
        self.major, self.minor, self.point = numbers[:3]
        self.string, self.packageHash, self.isUnstableFormat = f"Pipescope {text}", "", self.major == 0

    def __repr__(self):
        return self.string


class Steps:
    """The steps of an execution: a sequence of all of them, and a function that returns those of one run."""

    def __init__(self, execution):
        self._execution, self._all = execution, None

    def __call__(self, run, most=10_000_000):
        return self._execution._steps(run, most)

    def _list(self):
        if self._all is None:
            self._all = [step for run in self._execution.runs for step in self._execution._steps(run._id)]
        return self._all

    def __iter__(self):
        if self._all is not None:
            return iter(self._all)
        return (step for run in self._execution.runs for step in self._execution._steps(run._id))

    def __len__(self):
        return len(self._list())

    def __getitem__(self, place):
        return self._list()[place]


class Range:
    """The earliest and the latest of a figure over the tiles of an IPU, which steps of emulated IPUs begin and end as one."""

    def __init__(self, value):
        self.min = self.max = value


class Cycles:
    """The beginning and end of a step on an IPU, in cycles."""

    def __init__(self, step):
        self.cyclesFrom, self.cyclesTo = Range(step.cyclesFrom), Range(step.cyclesTo)


class Microseconds:
    """The beginning and end of a run, in microseconds of emulated time."""

    def __init__(self, run):
        self.start, self.end = run.startMicroseconds, run.endMicroseconds


class LoweredVariables:
    """The variables of a compilation by tile."""

    def __init__(self, compilation):
        self._compilation = compilation

    def forTile(self, tile):
        """Return what lies on a tile."""
        return self._compilation.loweredVariablesForTile(tile)


class ProgramVisitor(_pipescope.ProgramVisitor):
    """Derive a class from it and override its visit… methods, as visitOnTileExecute(self, program).

    A type that has no method of its own here, such as StreamCopyBegin, calls visitStreamCopyBegin if the class defines it.
    """

    def visitStreamCopy(self, program):
        """Called for the three parts of a copy from or to the host."""
        self._visit(program)

    def visitSync(self, program):
        """Called for all kinds of syncs."""
        self._visit(program)

    def visitProgram(self, program):
        """Called for all types without a method of their own."""
        self._visit(program)

    def _visit(self, program):
        method = getattr(type(self), f"visit{program.type}", None)
        if method is not None and method not in (ProgramVisitor.visitSync, ProgramVisitor.visitStreamCopy):
            method(self, program)


class OperationAnalysis:
    """The operations of a report."""

    def __init__(self, report):
        self.operations = report.operations()


class ComputeInstrumentation(enum.Enum):
    """The closeness with which times were recorded."""

    Off, Vertex, Tile, Ipu, Device, Unknown = range(6)


def _extend(kind, **members):
    for name, function in members.items():
        setattr(kind, name, property(function))


_extend(_pipescope.Report, poplarVersion=lambda report: Version(report.pipescopeVersion),
        version=lambda report: Version(report.pipescopeVersion))
_extend(_pipescope.Execution, steps=Steps)
_extend(_pipescope.ExecutionStep, ipus=lambda step: [step.ipu])
_extend(_pipescope.StepIpu, allCycles=Cycles, activeCycles=Cycles, activeTileBalance=lambda step: step.tileBalance)
_extend(_pipescope.Run, microseconds=Microseconds)
_extend(_pipescope.Compilation, loweredVariables=LoweredVariables)
