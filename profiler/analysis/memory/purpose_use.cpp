#include "profiler/analysis/memory/purpose_use.h"

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/model/origins.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

/// Bytes of a space that its variables may still claim, by category and by whether they are always live. What
/// is not always live shares its addresses, whatever its category, so it has one entry without a name.
using UnitClaims = std::map<std::pair<std::string, bool>, std::vector<std::int64_t>>;

struct DividedSpace {
  std::int64_t units = 0;
  std::int32_t peakStep = -1;
  Bytes peak;
  UnitClaims claims;
};

struct CountedVariable {
  std::size_t space = 0;
  std::string part, category;
  bool alwaysLive = false;
  std::int64_t bytes = 0;
};

class UnitDivider {
 public:
  UnitDivider(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
              UnitDivision by, base::Progress& progress)
      : source_(source), catalog_(catalog), executable_(executable), by_(by), progress_(progress) {}

  Result<std::vector<DividedUnits>> divide(const std::vector<model::MemorySpaceId>& spaces) {
    for (const model::MemorySpaceId id : spaces) {
      placeOf_[id.value] = spaces_.size();
      spaces_.push_back({.units = memoryUnitsOf(catalog_, id)});
    }
    made_.resize(spaces_.size());
    PIPESCOPE_TRY(readClaims());
    PIPESCOPE_TRY(readPeaks());
    PIPESCOPE_TRY(readVariables());
    PIPESCOPE_TRY(readUnits());
    for (std::size_t i = 0; i < spaces_.size(); ++i) finish(spaces_[i], made_[i]);
    return std::move(made_);
  }

 private:
  static bool anyBlock(const model::BlockInfo&, const std::vector<model::ColumnRange>&) { return true; }

  /// The place of a space among those that are divided; their number: it is not one of them.
  std::size_t placeOf(model::MemorySpaceId id) const {
    const auto found = placeOf_.find(id.value);
    return found == placeOf_.end() ? spaces_.size() : found->second;
  }

  template <class Add>
  static void forEachUnit(std::int64_t first, std::int64_t count, std::int64_t units, Add add) {
    const std::int64_t from = std::clamp<std::int64_t>(first, 0, units);
    const std::int64_t end = from + std::clamp<std::int64_t>(count, 0, units - from);
    for (std::int64_t unit = from; unit < end; ++unit) add(static_cast<std::size_t>(unit));
  }

  static std::vector<std::int64_t>& column(auto& columns, const auto& key, std::int64_t units) {
    std::vector<std::int64_t>& made = columns[key];
    made.resize(static_cast<std::size_t>(units), 0);
    return made;
  }

  static std::pair<std::string, bool> claimOf(const std::string& category, bool alwaysLive) {
    return {alwaysLive || category == "gap" ? category : std::string(), alwaysLive};
  }

  base::Status readClaims() {
    PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source_.rows<model::UnitMemory>());
    for (const model::UnitMemory& row : *rows) {
      const std::size_t place = placeOf(row.space);
      if (row.executable != executable_ || place == spaces_.size()) continue;
      DividedSpace& space = spaces_[place];
      auto& bytes = column(space.claims, claimOf(row.category, row.alwaysLive), space.units);
      forEachUnit(row.firstUnit, row.unitCount, space.units,
                  [&](std::size_t unit) { base::addWrapped(bytes[unit], row.bytes.count); });
    }
    return {};
  }

  base::Status readPeaks() {
    PIPESCOPE_TRY(forEachRow<model::LivenessStep>(
        source_, progress_, anyBlock, [&](const model::LivenessStep& row, std::int64_t) {
          const std::size_t place = placeOf(row.space);
          if (row.executable != executable_ || place == spaces_.size()) return true;
          DividedSpace& space = spaces_[place];
          if (space.peakStep < 0 || row.notAlwaysLive > space.peak)
            space.peakStep = row.index, space.peak = row.notAlwaysLive;
          return true;
        }));
    return {};
  }

  /// Reads the variables that count: those that are always live, and those that are live at the peak.
  base::Status readVariables() {
    PIPESCOPE_ASSIGN(const Origins origins, Origins::read(source_, catalog_, executable_));
    std::unordered_map<std::int64_t, CountedVariable> mayCount;
    PIPESCOPE_TRY(forEachRow<model::Variable>(
        source_, progress_, anyBlock, [&](const model::Variable& row, std::int64_t) {
          const std::size_t place = placeOf(row.space);
          if (row.executable != executable_ || place == spaces_.size()) return true;
          const std::string& category = row.unitCategory.empty() ? row.category : row.unitCategory;
          (row.alwaysLive ? counted_ : mayCount)
              .emplace(row.id.value, CountedVariable{place, partOf(row, origins), category, row.alwaysLive,
                                                     row.bytes.count});
          return true;
        }));
    return forEachRow<model::LifeInterval>(source_, progress_, anyBlock,
                                           [&](const model::LifeInterval& row, std::int64_t) {
                                             const auto found = mayCount.find(row.variable.value);
                                             if (found == mayCount.end()) return true;
                                             const std::int32_t peak = spaces_[found->second.space].peakStep;
                                             if (row.firstStep <= peak && peak < row.endStep)
                                               counted_.insert(mayCount.extract(found));
                                             return true;
                                           });
  }

  std::string partOf(const model::Variable& row, const Origins& origins) const {
    if (by_ == UnitDivision::purpose) return purposeOf(row.category);
    const OperatorOrigin origin = origins.of(catalog_.namePath(row.debugContext));
    const std::string& layer = origin.block.empty() ? origin.name : origin.block;
    return layer.empty() ? kNoLayer : layer;
  }

  /// Gives bytes of each of these units to a part, as far as the unit's own sum of the category allows. The
  /// names are looked up once for all units, of which a variable may have thousands.
  void claim(const CountedVariable& row, std::int64_t first, std::int64_t count, std::int64_t bytes) {
    DividedSpace& space = spaces_[row.space];
    auto claims = space.claims.find(claimOf(row.category, row.alwaysLive));
    // A variable may name its purpose only, though the unit counts it among its variables.
    if (claims == space.claims.end()) claims = space.claims.find(claimOf("variable", row.alwaysLive));
    if (claims == space.claims.end()) return;
    std::vector<std::int64_t>& left = claims->second;
    std::vector<std::int64_t>* parts = nullptr;
    forEachUnit(first, count, space.units, [&](std::size_t unit) {
      if (parts == nullptr) parts = &column(made_[row.space].parts, row.part, space.units);
      const std::int64_t taken = std::clamp<std::int64_t>(bytes, 0, std::max<std::int64_t>(0, left[unit]));
      left[unit] -= taken;
      (*parts)[unit] += taken;
    });
  }

  base::Status readUnits() {
    bool known = false;
    PIPESCOPE_TRY(forEachRow<model::VariableUnits>(
        source_, progress_, anyBlock, [&](const model::VariableUnits& row, std::int64_t) {
          known = true;
          const auto found = counted_.find(row.variable.value);
          if (found == counted_.end() || spaces_[found->second.space].units == 1) return true;
          claim(found->second, row.firstUnit, row.unitCount, row.bytes.count);
          return true;
        }));
    for (const auto& [id, row] : counted_) {
      if (spaces_[row.space].units == 1) claim(row, 0, 1, row.bytes);
    }
    for (std::size_t i = 0; i < spaces_.size(); ++i) made_[i].known = known || spaces_[i].units == 1;
    return {};
  }

  /// Names what no variable has claimed.
  void finish(DividedSpace& space, DividedUnits& made) {
    for (const auto& [key, left] : space.claims) {
      const auto& [category, alwaysLive] = key;
      const std::string part = category == "gap"            ? category
                               : !alwaysLive && made.known  ? kLiveInOtherSteps
                               : by_ == UnitDivision::layer ? kNoLayer
                               : alwaysLive                 ? purposeOf(category)
                                                            : "variable";
      if (std::ranges::all_of(left, [](std::int64_t bytes) { return bytes == 0; })) continue;
      std::vector<std::int64_t>& bytes = column(made.parts, part, space.units);
      for (std::size_t unit = 0; unit < left.size(); ++unit) base::addWrapped(bytes[unit], left[unit]);
    }
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  UnitDivision by_;
  base::Progress& progress_;
  std::unordered_map<std::int64_t, std::size_t> placeOf_;
  std::vector<DividedSpace> spaces_;
  std::unordered_map<std::int64_t, CountedVariable> counted_;
  std::vector<DividedUnits> made_;
};

}  // namespace

std::string purposeOf(const std::string& category) {
  if (category == "vertexCode" || category.ends_with("ExchangeCode")) return "code";
  if (category == "vertexInstanceState" || category == "vertexFieldData") return "vertex_state";
  if (category == "controlCode" || category == "controlTable" || category == "controlId" ||
      category == "copyDescriptor" || category == "stack" || category.ends_with("PacketHeader"))
    return "control";
  return category;
}

Result<std::vector<DividedUnits>> divideUnits(const model::ProfileSource& source, const Catalog& catalog,
                                              model::ExecutableId executable,
                                              const std::vector<model::MemorySpaceId>& spaces,
                                              UnitDivision by, base::Progress& progress) {
  return UnitDivider(source, catalog, executable, by, progress).divide(spaces);
}

}  // namespace pipescope::analysis
