"""Memory by libpva's names: what lives when, variables by tile, categories. pva.py adds these to the classes of the module."""

from pipescope import _pipescope


class LivenessSteps:
    """The liveness steps of a compilation: a sequence of those of all IPUs, and a function that returns those of one."""

    def __init__(self, compilation):
        self._compilation, self._all = compilation, None

    def __call__(self, ipu=0):
        return self._compilation._livenessProgramSteps(ipu)

    def _list(self):
        if self._all is None:
            target = self._compilation.target
            self._all = [step for ipu in range(target.ipusPerReplica) for step in self(ipu)]  # replicas are alike
        return self._all

    def __iter__(self):
        return iter(self._list())

    def __len__(self):
        return len(self._list())

    def __getitem__(self, place):
        return self._list()[place]


class LiveMemory:
    """Memory in which nothing lives that is not always live."""

    def __init__(self):
        self.bytes, self.variables = 0, []


def live_memory_of_ipu(step, ipu):
    """Return what is live on an IPU during a step, but not always. A program of another IPU holds nothing there."""
    return step.notAlwaysLiveMemory if ipu == step.ipu else LiveMemory()


class Interval:
    """The liveness steps from `start` until `end`, which is no part of it."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def __repr__(self):
        return f"[{self.start}, {self.end})"


class EquivalenceClass:
    """Variables with the same life. They have the same `id`."""

    def __init__(self, number, steps):
        self.id, self.steps = number, steps


class BriefVariable:
    """The part of a variable that lies on a tile: its id, bytes, tile and life only."""

    def __init__(self, variable, size, tile, equivalence):
        self.id, self.bytes, self.tileId, self.equivalenceClass = variable, size, tile, equivalence


class UnloweredVar:
    """The tensor that a lowered variable is a part of."""

    def __init__(self, variable):
        shape, _, self.type = variable.shape.partition(" ")
        self.name, self.shape = variable.name, [int(size) for size in shape.split("x") if size.isdigit()]
        self.debugContext = variable._report._debugContextOfVariable(variable._id)


class LoweredVariables:
    """The variables of a compilation by tile."""

    def __init__(self, compilation):
        self._compilation, self._brief = compilation, None

    def forTile(self, tile):
        """Return what lies on a tile."""
        return self._compilation.loweredVariablesForTile(tile)

    @property
    def allBriefVars(self):
        """All parts of variables on all tiles."""
        if self._brief is None:
            self._brief = list(self._read())
        return self._brief

    def _read(self):
        report, compilation = self._compilation._report, self._compilation
        classes = _equivalence_classes(report, len(compilation.livenessProgramSteps))
        first = {tile.ipu: tile.id for tile in reversed(compilation.tiles)}
        spaces = report.table("memory_space")
        device = {space: ipu for space, ipu, units in zip(spaces["id"].tolist(), spaces["device"].tolist(), spaces["units"].tolist())
                  if units == compilation.target.tilesPerIpu}
        variables, parts = report.table("variable"), report.table("variable_units")
        places = dict(zip(variables["id"].tolist(), variables["memory_space"].tolist()))
        owners = dict(zip(variables["id"].tolist(), variables["executable"].tolist()))
        for variable, begin, count, size in zip(*(parts[name].tolist() for name in ("variable", "first_unit", "unit_count", "bytes"))):
            ipu = device.get(places.get(variable))
            if ipu in first and owners[variable] == compilation._executable:
                for tile in range(first[ipu] + max(begin, 0), first[ipu] + min(begin + count, compilation.target.tilesPerIpu)):
                    yield BriefVariable(variable, size, tile, classes[variable])


def _equivalence_classes(report, steps):
    """Return {id of a variable: its EquivalenceClass}. What is always live is so in all of so many steps."""
    variables, lives = report.table("variable"), report.table("life_interval")
    intervals = {number: [(0, steps)] for number, always in zip(variables["id"].tolist(), variables["always_live"].tolist()) if always}
    for number, start, end in zip(*(lives[name].tolist() for name in ("variable", "first_step", "end_step"))):
        intervals.setdefault(number, []).append((start, end))
    known, classes = {}, {}
    for number, space in zip(variables["id"].tolist(), variables["memory_space"].tolist()):
        life = (space, *sorted(intervals.get(number, ())))
        classes[number] = known.setdefault(life, EquivalenceClass(len(known), [Interval(*each) for each in life[1:]]))
    return classes


class Categories(dict):
    """The memory of a tile by category. Each category is an attribute, too; one that the tile lacks has no bytes."""

    _NAMES = frozenset(
        "constant controlCode controlId controlTable copyDescriptor globalExchangeCode globalExchangePacketHeader hostExchangeCode "
        "hostExchangePacketHeader instrumentationResults internalExchangeCode message multiple outputEdge rearrangement "
        "sharedCodeStorage sharedDataStorage stack variable vectorListDescriptor vertexCode vertexFieldData vertexInstanceState".split())

    def __getattr__(self, name):
        if name in self:
            return self[name]
        if name in self._NAMES:
            return _pipescope.CategoryMemory()
        raise AttributeError(f"There is no category of memory {name}.")
