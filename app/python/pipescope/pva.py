"""The names of Graphcore's libpva: `import pva` of a program that `pipescope run-python` runs.

The classes are those of the extension module. What libpva's objects offer in another form is added to them here: lists that
are also functions, versions, and the calls of a visitor by type of program.
"""

import enum
import os

from pipescope import _pipescope
from pipescope._pipescope import *  # noqa: F401,F403
from pipescope.marks import Event, Process, Thread, Trace, openTrace  # noqa: F401
from pipescope.pva_memory import Categories, LivenessSteps, LoweredVariables, UnloweredVar, live_memory_of_ipu


def openReport(profile, debugInfo=None):
    """Open a profile and return a Report.

    A second file, with libpva's debug information, is not read: the names of operations and variables are in the profile. It
    must be there, or it is a FileNotFoundError.
    """
    if debugInfo is not None and not os.path.exists(debugInfo):
        raise FileNotFoundError(f"There is no file {debugInfo}. A profile of Pipescope holds debug information itself: leave the file out.")
    return _pipescope.openReport(os.fspath(profile))


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
    """The operations of a report, with the programs that compute them."""

    def __init__(self, report):
        self.operations, programs, steps = report.operations(), {}, {}
        for program in report.compilation.programs:
            programs.setdefault(program.debugContext.id, []).append(program)
        for number, step in enumerate(report.compilation.livenessProgramSteps):
            steps.setdefault(step.program._id, []).append(number)
        around = {context: self._around(report, context) for context in programs}
        for operation in self.operations:
            own = [program for context, each in programs.items() if operation.debugContext.id in around[context] for program in each]
            places = [number for program in own for number in steps.get(program._id, ())]
            operation._programs, operation.replacedDebugContext = own, []
            operation.firstStepIndex, operation.lastStepIndex = (min(places), max(places)) if places else (-1, -1)

    @staticmethod
    def _around(report, context):
        """Return the ids of a context and of those around it."""
        found, waiting = set(), [context]
        while waiting:
            current = waiting.pop()
            if current >= 0 and current not in found:
                found.add(current)
                waiting += report._debugContext(current).parents
        return found


class ComputeInstrumentation(enum.Enum):
    """The closeness with which times were recorded."""

    Off, Vertex, Tile, Ipu, Device, Unknown = range(6)


class ExternalExchangeInstrumentation(enum.Enum):
    """The closeness with which exchange between devices was recorded."""

    Off, Tile, Unknown = range(3)


#: The longest list that libpva prints as a whole.
_list_print_length = 10


def _set_list_print_length(report, length):
    global _list_print_length
    _list_print_length = int(length)


def _unknown(name, why):
    """Return a property that emulated devices cannot have."""
    def refuse(owner):
        raise AttributeError(f"{type(owner).__name__}.{name}: {why}.")

    return property(refuse)


def _kept(raw, name):
    """Return a property that gives the owner to what the property `raw` returns, under a name."""
    def read(owner):
        made = raw.fget(owner)
        for each in made if isinstance(made, list) else [made]:
            setattr(each, name, owner)
        return made

    return property(read)


def _of_executable(raw, name):
    """Return a function that gives the report to what the function `raw` returns, under a name."""
    def read(report, executable):
        made = raw(report, executable)
        setattr(made, name, report)
        return made

    return read


def _lowered(compilation, tile, raw=_pipescope.Compilation.loweredVariablesForTile):
    variables = raw(compilation, tile)
    for each in variables:
        each._report = compilation._report
    return variables


def _extend(kind, **members):
    for name, function in members.items():
        setattr(kind, name, property(function))


_extend(_pipescope.Report, poplarVersion=lambda report: Version(report.pipescopeVersion),
        version=lambda report: Version(report.pipescopeVersion))
_extend(_pipescope.Execution, steps=Steps)
_extend(_pipescope.ExecutionStep, ipus=lambda step: [step.ipu])
_extend(_pipescope.StepIpu, allCycles=Cycles, activeCycles=Cycles, activeTileBalance=lambda step: step.tileBalance)
_extend(_pipescope.Run, microseconds=Microseconds)
_extend(_pipescope.Compilation, loweredVariables=LoweredVariables, livenessProgramSteps=LivenessSteps,
        timestamp=lambda compilation: compilation._report.property("created_utc"))
_extend(_pipescope.TileMemory, category=lambda memory, raw=_pipescope.TileMemory.category: Categories(raw.fget(memory)))
_extend(_pipescope.LoweredVariable, hasUnloweredVar=lambda variable: variable.shape != "", unloweredVar=UnloweredVar)
_extend(_pipescope.Run, steps=lambda run: run._execution.steps(run._id))
_extend(_pipescope.DebugContext, json=lambda context: "{}", location=lambda context: None)
_pipescope.Compilation.loweredVariablesForTile = _lowered
_pipescope.LivenessProgramStep.notAlwaysLiveMemoryForIpu = live_memory_of_ipu
_pipescope.Report.listPrintLength = property(lambda report: _list_print_length, _set_list_print_length)
_pipescope.Report.compilation = _kept(_pipescope.Report.compilation, "_report")
_pipescope.Report.compilationOf = _of_executable(_pipescope.Report.compilationOf, "_report")
_pipescope.Execution.runs = _kept(_pipescope.Execution.runs, "_execution")
_pipescope.Execution.blocks = lambda execution, tile: []  # emulated runs record all steps, and no lightweight profile
_pipescope.Operation.programs = lambda operation: operation._programs
_pipescope.Graph.numEdges = _unknown("numEdges", "the models of the devices do not know the edges of a graph; numVertices counts its vertices")
_pipescope.Program.vars = _unknown("vars", "a profile does not say which program uses which variable; "
                                   "livenessProgramSteps says what is live during each")
for _name in ("controlCodeByTile", "codeBytesByTile"):
    setattr(_pipescope.Program, _name, _unknown(_name, "the models of the devices know the code of a tile as a whole only: "
                                                "see memory.category of a tile"))
