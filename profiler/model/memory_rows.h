#pragma once
// Rows of variables, where they lie and when they live.
#include <cstdint>
#include <string>

#include "profiler/model/row_declaration.h"

namespace pipescope::model {

struct Variable {
  VariableId id;
  ExecutableId executable;
  MemorySpaceId space;
  DebugContextId debugContext;
  std::string category, shape;
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
  std::int32_t stage = -1;
  std::string unitCategory = {};
  MemoryPlace place = MemoryPlace::anywhere;
  PIPESCOPE_ROW("variable", blocks, "A tensor or piece of program in a memory space") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("debug_context", row.debugContext, "", "name path");
    visit("category", row.category, "", "weight, optimizer_state, stash, activation, vertexCode …");
    visit("shape", row.shape, "", "e.g. 20x10x5x5 float32; empty for code");
    visit("bytes", row.bytes, "B", "sum over units");
    visit("max_unit_bytes", row.maxUnitBytes, "B", "on the unit that holds most of it");
    visit("always_live", row.alwaysLive, "", "1: reserved for the whole program");
    visit("stage", row.stage, "", "");
    visit("unit_category", row.unitCategory, "", "its category in unit_memory; empty: the same as category");
    visit("place", row.place, "", "MemoryPlace: the part of a unit's memory that it needs");
  }
};

struct LivenessStep {
  ExecutableId executable;
  MemorySpaceId space;
  std::int32_t index = 0;
  ProgramId program;
  Pass pass = Pass::forward;
  Bytes notAlwaysLive, maxUnitNotAlwaysLive;
  PIPESCOPE_ROW("liveness_step", blocks, "Program steps in compile order, with what is live during each") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("index", row.index, "", "position in the program of this space's device");
    visit("program", row.program, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("not_always_live", row.notAlwaysLive, "B", "sum over units");
    visit("max_unit_not_always_live", row.maxUnitNotAlwaysLive, "B", "on the fullest unit");
  }
};

struct LifeInterval {
  VariableId variable;
  std::int32_t firstStep = 0, endStep = 0;
  PIPESCOPE_ROW("life_interval", blocks, "Steps in which a not-always-live variable is live") {
    visit("variable", row.variable, "", "");
    visit("first_step", row.firstStep, "", "LivenessStep::index, inclusive");
    visit("end_step", row.endStep, "", "exclusive");
  }
};

struct UnitMemory {
  ExecutableId executable;
  MemorySpaceId space;
  std::string category, region;
  bool alwaysLive = false;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;
  PIPESCOPE_ROW("unit_memory", plain, "Memory use per unit, run-length coded over equal neighbours") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("category", row.category, "", "libpva's category names, and gap");
    visit("region", row.region, "", "non_interleaved, interleaved or overflowed");
    visit("always_live", row.alwaysLive, "", "0: the peak of what shares addresses");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 hold the same");
    visit("bytes", row.bytes, "B", "in each of these units");
  }
};

/// Units that hold a variable. A unit that no row of the variable names holds nothing of it. If addresses are
/// not recorded, because they differ from unit to unit, analysis/memory/unit_layout.h works them out.
struct VariableUnits {
  VariableId variable;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;
  std::int64_t address = -1;
  PIPESCOPE_ROW("variable_units", blocks, "Unit map of a variable, run-length coded over equal neighbours") {
    visit("variable", row.variable, "", "ascending");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 hold as much");
    visit("bytes", row.bytes, "B", "in each of these units");
    visit("address", row.address, "B", "in each of these units; -1: laid out by the reader");
  }
};

/// The vertices of one type in one compute set. Their code lies once on a unit for each type, however many
/// compute sets run it.
struct VertexUse {
  ExecutableId executable;
  MemorySpaceId space;
  ProgramId program;
  std::string type;
  std::int64_t firstUnit = 0, unitCount = 1, count = 1;
  Bytes code, state, lists;
  PIPESCOPE_ROW("vertex_use", blocks, "Vertices of a compute set by type, run-length coded over units") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "that holds their code and data");
    visit("program", row.program, "", "the compute set");
    visit("type", row.type, "", "codelet with its template arguments");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 have as many");
    visit("count", row.count, "", "vertices on each of these units");
    visit("code_bytes", row.code, "B", "of the type's code on each of these units");
    visit("state_bytes", row.state, "B", "of all these vertices' own state on each of these units");
    visit("list_bytes", row.lists, "B", "of the lists that they point to, on each of these units");
  }
};

}  // namespace pipescope::model
