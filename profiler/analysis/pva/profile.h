#pragma once
// The handles of report.h share this: the profile, and facts that are read once for many handles.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/pva/report.h"
#include "profiler/analysis/timeline/unit_steps.h"

namespace pipescope::pva {
namespace detail {

struct Profile {
  std::shared_ptr<const model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;

  model::Program program(std::int64_t id) const { return catalog->programs[model::ProgramId(id)]; }
  std::int64_t ipuOf(model::DeviceId device) const { return device.value; }

  struct StepPlace {
    std::int64_t row = 0, ticks = 0;
  };
  /// Finds the first step of each program. The result is kept, so the steps are read once.
  Result<std::unordered_map<std::int64_t, StepPlace>> findSteps() const;
  /// Returns the cycles of each tile in a program's step; empty if they were not recorded.
  Result<std::vector<std::int64_t>> cyclesByTile(std::int64_t program) const;

  /// Reads all programs at the first call, because a walk over the tree asks for the children of every
  /// program.
  std::vector<std::int64_t> childrenOf(std::int64_t program) const;

  /// Finds a tile by its number over all devices, in the order of Compilation::tiles().
  struct TilePlace {
    model::MemorySpaceId space;
    model::DeviceId device;
    std::int64_t unit = 0;
  };
  /// Fails if there is no such tile, or if the profile does not say what lies on which tile.
  Result<TilePlace> tile(std::int64_t number) const;

 private:
  void readChildren() const;

  mutable std::once_flag childrenRead_;
  mutable std::unordered_map<std::int64_t, std::vector<std::int64_t>> children_;
  mutable std::mutex mutex_;  // guards the two members below
  mutable std::optional<std::unordered_map<std::int64_t, StepPlace>> steps_;
  mutable std::optional<analysis::UnitReader> units_;
};

/// True for a memory space whose units are tiles of Compilation::tiles(). It must be memory of a device and
/// keep the number of all tiles at or below 10,000,000.
bool isTiled(const model::MemorySpace& space, std::int64_t tilesBefore);

/// Returns the name, layer and parent of a debug context. An id of −1 means that there is none.
DebugContext contextOf(const Profile& profile, model::DebugContextId id);

template <class Row>
Result<std::vector<Row>> rowsWhere(const model::ProfileSource& source,
                                   const std::function<bool(const Row&)>& wanted) {
  std::vector<Row> found;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) {
      if (wanted(row)) found.push_back(row);
    }
  }
  return found;
}

}  // namespace detail
}  // namespace pipescope::pva
