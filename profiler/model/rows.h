#pragma once
// All rows of a profile, each declared once in the header of its subject.
#include <tuple>

#include "profiler/model/executable_rows.h"
#include "profiler/model/host_rows.h"
#include "profiler/model/memory_rows.h"
#include "profiler/model/run_rows.h"
#include "profiler/model/setup_rows.h"

namespace pipescope::model {

/// All row types; a table's index is its place here, and its number in files: add new ones at the end.
using AllRows =
    std::tuple<Property, ConfigurationEntry, Target, Device, Link, Lane, MemorySpace, Executable, Stage,
               Boundary, DebugContext, Operator, Program, Segment, Step, Variable, LivenessStep, LifeInterval,
               UnitMemory, Run, Placement, Transfer, Wait, Counter, CounterSample, Outcome, Diagnostic, Note,
               LevelNode, CompilerPass, StepUnits, VariableUnits, Edge, VertexUse, HostThread, HostName,
               HostSpan, HostSeries, HostSample, Collective, Division>;

}  // namespace pipescope::model
