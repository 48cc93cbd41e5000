#include "profiler/replay/replayed_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/clock/ring_entries.h"

namespace pipescope::replay {
namespace {

using Units = std::vector<std::int64_t>;

/// The memory of a device on which stashes change.
struct StashSpace {
  std::int64_t end = 0;                ///< behind the last recorded address
  bool hasAddresses = false;           ///< false: the reader lays the variables out
  std::size_t next = 0;                ///< unit that gets the next byte which does not divide evenly
  std::string region;                  ///< that of what is always live
  std::map<std::string, Units> added;  ///< bytes of each unit, by category of unit_memory
};

class MemoryWriter {
 public:
  MemoryWriter(const ChangeContext& context, const Recording& recording, record::Recorder& recorder)
      : context_(context), recording_(recording), recorder_(recorder) {}

  base::Status write() {
    findStages();
    PIPESCOPE_TRY(analysis::forAllRows<model::UnitMemory>(context_.source, [&](const auto& row) {
      const auto space = spaces_.find(row.space);
      if (space != spaces_.end() && isOwn(row) && row.alwaysLive) space->second.region = row.region;
    }));
    PIPESCOPE_TRY(writeVariables());
    return writeUnits();
  }

 private:
  void findStages() {
    const std::vector<std::int64_t> entries = clock::ringEntries(recording_.orders.front());
    for (const model::Stage* before : context_.catalog.stagesOf(recording_.executable.id)) {
      const auto s = static_cast<std::size_t>(before->index);
      if (before->index < 0 || s >= entries.size() || s >= recording_.stages.size()) continue;
      const Bytes added = stashAdded(*before, before->stashEntries, recording_.stages[s], entries[s]);
      for (const model::MemorySpace& space : context_.catalog.memorySpaces) {
        if (added.count == 0 || space.device != before->device || !analysis::isOnDevice(space)) continue;
        added_[before->index] = added;
        spaceOf_[before->index] = space.id;
        spaces_.try_emplace(space.id);
        break;
      }
    }
  }

  template <class Row>
  bool isOwn(const Row& row) const {
    return row.executable == recording_.executable.id;
  }

  bool isStash(const model::Variable& row) const {
    return isOwn(row) && row.alwaysLive && row.category == "stash";
  }

  /// The bytes that a variable of a stash keeps; `left` is what its stage still has to give up.
  struct Shrunk {
    std::int64_t bytes = 0, kept = 0;
    model::MemorySpaceId space;
    std::string category;
  };

  base::Status writeVariables() {
    std::map<std::int64_t, Shrunk> shrunk;  // by index of the variable
    std::map<std::int32_t, std::int64_t> left;
    for (const auto& [stage, added] : added_) left[stage] = std::max<std::int64_t>(0, -added.count);
    model::Variable like;
    std::int64_t index = 0;
    std::vector<model::MemorySpaceId> spaceOfVariable;
    PIPESCOPE_TRY(analysis::forAllRows<model::Variable>(context_.source, [&](model::Variable row) {
      if (isStash(row)) {
        like = row;
        const auto wanted = left.find(row.stage);
        if (wanted != left.end() && wanted->second > 0 && row.bytes.count > 0) {
          const std::int64_t taken = std::min(wanted->second, row.bytes.count);
          wanted->second -= taken;
          shrunk[index] = {row.bytes.count, row.bytes.count - taken, row.space, unitCategory(row)};
          const double part =
              static_cast<double>(row.bytes.count - taken) / static_cast<double>(row.bytes.count);
          row.bytes = row.bytes - Bytes(taken);
          row.maxUnitBytes =
              Bytes(static_cast<std::int64_t>(static_cast<double>(row.maxUnitBytes.count) * part));
        }
      }
      spaceOfVariable.push_back(row.space);
      recorder_.add(row);
      ++index;
    }));
    PIPESCOPE_TRY(writePlaces(shrunk, spaceOfVariable));
    for (const auto& [stage, added] : added_)
      if (added.count > 0) grow(stage, added, like);
    return {};
  }

  static std::string unitCategory(const model::Variable& row) {
    return row.unitCategory.empty() ? row.category : row.unitCategory;
  }

  /// Writes where the recorded variables lie. Each unit keeps its part of a variable that shrinks, rounded so
  /// that the parts add up.
  base::Status writePlaces(const std::map<std::int64_t, Shrunk>& shrunk,
                           const std::vector<model::MemorySpaceId>& spaceOfVariable) {
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> passed;  // recorded and kept bytes so far
    return analysis::forAllRows<model::VariableUnits>(context_.source, [&](model::VariableUnits row) {
      const std::int64_t variable = row.variable.value;
      if (variable >= 0 && variable < static_cast<std::int64_t>(spaceOfVariable.size())) {
        const auto space = spaces_.find(spaceOfVariable[static_cast<std::size_t>(variable)]);
        if (space != spaces_.end() && row.address >= 0) {
          space->second.hasAddresses = true;
          space->second.end = std::max(space->second.end, row.address + row.bytes.count);
        }
      }
      const auto found = shrunk.find(variable);
      if (found == shrunk.end()) return static_cast<void>(recorder_.add(row));
      const Shrunk& own = found->second;
      Units& added = unitsOf(own.space, own.category);
      auto& [before, after] = passed[variable];
      const std::int64_t end =
          std::min<std::int64_t>(row.firstUnit + row.unitCount, static_cast<std::int64_t>(added.size()));
      for (std::int64_t unit = std::max<std::int64_t>(0, row.firstUnit); unit < end; ++unit) {
        before += row.bytes.count;
        const auto kept =
            static_cast<std::int64_t>(static_cast<long double>(before) * static_cast<long double>(own.kept) /
                                      static_cast<long double>(own.bytes)) -
            after;
        after += kept;
        added[static_cast<std::size_t>(unit)] += kept - row.bytes.count;
        if (kept <= 0) continue;
        model::VariableUnits one = row;
        one.firstUnit = unit;
        one.unitCount = 1;
        one.bytes = Bytes(kept);
        recorder_.add(one);
      }
    });
  }

  Units& unitsOf(model::MemorySpaceId space, const std::string& category) {
    Units& units = spaces_[space].added[category];
    units.resize(static_cast<std::size_t>(analysis::memoryUnitsOf(context_.catalog, space)), 0);
    return units;
  }

  /// Writes a variable for what a stash grows by. `like` is a recorded variable of a stash, if there is one.
  void grow(std::int32_t stage, Bytes bytes, const model::Variable& like) {
    model::Variable row = like;
    const bool known = isStash(like);
    row.executable = recording_.executable.id;
    row.space = spaceOf_[stage];
    row.stage = stage;
    row.bytes = bytes;
    row.shape.clear();
    if (!known) {
      row.category = "stash";
      row.alwaysLive = true;
      row.debugContext = recorder_.add(model::DebugContext{{}, {}, "stash"});
    }
    StashSpace& space = spaces_[row.space];
    Units& added = unitsOf(row.space, unitCategory(row));
    const auto count = static_cast<std::int64_t>(added.size());
    if (count == 0) return;
    Units own(added.size(), bytes.count / count);
    for (std::int64_t rest = bytes.count % count; rest > 0; --rest) {
      ++own[space.next];
      space.next = (space.next + 1) % own.size();
    }
    row.maxUnitBytes = Bytes(*std::max_element(own.begin(), own.end()));
    const model::VariableId id = recorder_.add(row);
    forEachRun(own, [&](std::int64_t first, std::int64_t length, std::int64_t each) {
      recorder_.add(
          model::VariableUnits{id, first, length, Bytes(each), space.hasAddresses ? space.end : -1});
    });
    space.end += row.maxUnitBytes.count;
    for (std::size_t unit = 0; unit < own.size(); ++unit) added[unit] += own[unit];
  }

  /// Calls run(first, length, bytes) for each run of units that hold the same, apart from those with nothing.
  template <class Run>
  static void forEachRun(const Units& units, Run run) {
    for (std::size_t first = 0; first < units.size();) {
      std::size_t end = first + 1;
      while (end < units.size() && units[end] == units[first]) ++end;
      if (units[first] != 0)
        run(static_cast<std::int64_t>(first), static_cast<std::int64_t>(end - first), units[first]);
      first = end;
    }
  }

  /// Writes the memory of each unit. Rows from which bytes are taken are written unit by unit.
  base::Status writeUnits() {
    PIPESCOPE_TRY(analysis::forAllRows<model::UnitMemory>(context_.source, [&](const model::UnitMemory& row) {
      const auto space = spaces_.find(row.space);
      const bool mayShrink = space != spaces_.end() && isOwn(row) && row.alwaysLive;
      const auto added = mayShrink ? space->second.added.find(row.category) : noUnits_.end();
      if (!mayShrink || added == space->second.added.end()) return recorder_.add(row);
      Units left;
      const std::int64_t first = std::max<std::int64_t>(0, row.firstUnit);
      const std::int64_t end = std::min<std::int64_t>(row.firstUnit + row.unitCount,
                                                      static_cast<std::int64_t>(added->second.size()));
      for (std::int64_t unit = first; unit < end; ++unit) {
        std::int64_t& change = added->second[static_cast<std::size_t>(unit)];
        const std::int64_t taken = std::min(std::max<std::int64_t>(0, -change), row.bytes.count);
        change += taken;
        left.push_back(row.bytes.count - taken);
      }
      forEachRun(left, [&](std::int64_t from, std::int64_t length, std::int64_t each) {
        model::UnitMemory part = row;
        part.firstUnit = first + from;
        part.unitCount = length;
        part.bytes = Bytes(each);
        recorder_.add(part);
      });
    }));
    for (const auto& [id, space] : spaces_) {
      for (const auto& [category, units] : space.added) {
        forEachRun(units, [&, &id = id, &space = space, &category = category](
                              std::int64_t first, std::int64_t length, std::int64_t each) {
          if (each > 0)
            recorder_.add(model::UnitMemory{recording_.executable.id, id, category, space.region, true, first,
                                            length, Bytes(each)});
        });
      }
    }
    return {};
  }

  const ChangeContext& context_;
  const Recording& recording_;
  record::Recorder& recorder_;
  std::map<std::int32_t, Bytes> added_;                   // by stage; without those that stay as recorded
  std::map<std::int32_t, model::MemorySpaceId> spaceOf_;  // of these stages
  std::map<model::MemorySpaceId, StashSpace> spaces_;
  std::map<std::string, Units> noUnits_;
};

}  // namespace

Bytes stashAdded(const model::Stage& before, std::int64_t entriesBefore, const model::Stage& after,
                 std::int64_t entriesAfter) {
  // A stage without a stash keeps its results once, until its backward pass.
  return before.stashBytesPerEntry * (entriesAfter - entriesBefore) +
         (after.stashBytesPerEntry - before.stashBytesPerEntry) * std::max<std::int64_t>(entriesAfter, 1);
}

base::Status writeReplayedMemory(const ChangeContext& context, const Recording& recording,
                                 record::Recorder& recorder) {
  return MemoryWriter(context, recording, recorder).write();
}

}  // namespace pipescope::replay
