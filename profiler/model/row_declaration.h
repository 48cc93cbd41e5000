#pragma once
// Ids of rows, and the macro that declares a row. A row's fields() names every column with its unit and
// meaning; the store's tables and codecs, headings and documentation derive from it (columns.h).
//
// Ticks are of the timebase of the row's device (Device::ticksPerSecond), counted from the first run's start.
// All int32 indices (stage, chunk, microBatch …) count from 0; −1 means "does not apply".
#include "profiler/base/ids.h"
#include "profiler/base/units.h"
#include "profiler/model/enums.h"

namespace pipescope::model {

using base::Bytes;
using base::Ticks;

/// Plain rows are small facts, one SQL row each; blocks are long columns, coded and compressed in blocks.
enum class Storage { plain, blocks };

struct DeviceTag;
struct LinkTag;
struct LaneTag;
struct MemorySpaceTag;
struct ExecutableTag;
struct DebugContextTag;
struct OperatorTag;
struct ProgramTag;
struct SegmentTag;
struct VariableTag;
struct RunTag;
struct PlacementTag;
struct TransferTag;
struct CounterTag;
using DeviceId = base::Id<DeviceTag>;
using LinkId = base::Id<LinkTag>;
using LaneId = base::Id<LaneTag>;
using MemorySpaceId = base::Id<MemorySpaceTag>;
using ExecutableId = base::Id<ExecutableTag>;
using DebugContextId = base::Id<DebugContextTag>;
using OperatorId = base::Id<OperatorTag>;
using ProgramId = base::Id<ProgramTag>;
using SegmentId = base::Id<SegmentTag>;
using VariableId = base::Id<VariableTag>;
using RunId = base::Id<RunTag>;
using PlacementId = base::Id<PlacementTag>;
using TransferId = base::Id<TransferTag>;
using CounterId = base::Id<CounterTag>;

#define PIPESCOPE_ROW(name, storage, doc)               \
  static constexpr const char* kTable = name;           \
  static constexpr Storage kStorage = Storage::storage; \
  static constexpr const char* kDoc = doc;              \
  template <class Self, class Visit>                    \
  static void fields(Self& row, Visit&& visit)

}  // namespace pipescope::model
