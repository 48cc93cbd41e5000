#include "profiler/analysis/memory/unit_layout.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory/pool_placer.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

struct Life {
  std::int32_t first = 0, end = 0;
};

struct LayoutVariable {
  model::Variable row;
  std::int64_t bytes = 0, address = -1;
  std::vector<Life> lives;
};

class UnitLayouter {
 public:
  UnitLayouter(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
               model::MemorySpaceId space, std::int64_t unit)
      : source_(source), catalog_(catalog), executable_(executable), space_(space), unit_(unit) {}

  Result<UnitLayout> layOut() {
    PIPESCOPE_TRY(read());
    if (!layout_.known) return std::move(layout_);
    if (std::ranges::any_of(variables_, [](const LayoutVariable& v) { return v.address >= 0; })) {
      takeRecorded();
    } else {
      divide();
    }
    for (const PlacedVariable& placed : layout_.variables)
      layout_.end = std::max(layout_.end, placed.address + placed.bytes.count);
    std::ranges::sort(layout_.variables, [](const PlacedVariable& a, const PlacedVariable& b) {
      return std::tie(a.address, a.firstStep, a.id.value) < std::tie(b.address, b.firstStep, b.id.value);
    });
    return std::move(layout_);
  }

 private:
  base::Status read() {
    std::unordered_map<std::int64_t, model::VariableUnits> here;
    PIPESCOPE_TRY(forAllRows<model::VariableUnits>(source_, [&](const model::VariableUnits& row) {
      layout_.known = true;
      if (row.firstUnit <= unit_ && base::wrappedDifference(unit_, row.firstUnit) < row.unitCount)
        here[row.variable.value] = row;
    }));
    std::vector<model::Variable> whole;
    bool always = true;
    PIPESCOPE_TRY(forAllRows<model::Variable>(source_, [&](const model::Variable& row) {
      if (row.executable != executable_ || row.space != space_) return;
      const auto found = here.find(row.id.value);
      if (found != here.end()) add(row, found->second.bytes.count, found->second.address);
      always = always && row.alwaysLive;
      whole.push_back(row);
    }));
    // Memory in one piece that only holds what is always live needs no unit maps.
    const model::MemorySpace* space = catalog_.memorySpaces.find(space_);
    if (variables_.empty() && always && space != nullptr && space->units == 1 && unit_ == 0) {
      layout_.known = true;
      for (const model::Variable& row : whole) add(row, row.bytes.count, -1);
    }
    return forAllRows<model::LifeInterval>(source_, [&](const model::LifeInterval& row) {
      const auto found = places_.find(row.variable.value);
      if (found == places_.end() || row.firstStep < 0 || row.firstStep >= row.endStep) return;
      LayoutVariable& variable = variables_[found->second];
      if (hasRoom(variable.bytes)) variable.lives.push_back({row.firstStep, row.endStep});
    });
  }

  void add(const model::Variable& row, std::int64_t bytes, std::int64_t address) {
    if (bytes <= 0 || address > kMostBytes || !hasRoom(bytes)) return;
    places_[row.id.value] = variables_.size();
    variables_.push_back({row, bytes, address, {}});
  }

  /// False if the sum of all bytes becomes larger than that of any device, which happens in damaged files
  /// only.
  bool hasRoom(std::int64_t bytes) {
    if (bytes > kMostBytes - taken_) return false;
    taken_ += bytes;
    return true;
  }

  const std::string& categoryOf(const LayoutVariable& variable) const {
    return variable.row.unitCategory.empty() ? variable.row.category : variable.row.unitCategory;
  }

  PlacedVariable described(const LayoutVariable& variable, std::int64_t address, std::int64_t bytes) const {
    PlacedVariable placed;
    placed.id = variable.row.id;
    placed.name = catalog_.namePath(variable.row.debugContext);
    placed.category = variable.row.category;
    placed.shape = variable.row.shape;
    placed.stage = variable.row.stage;
    placed.alwaysLive = variable.row.alwaysLive;
    placed.address = address;
    placed.bytes = Bytes(bytes);
    placed.ofUnit = Bytes(variable.bytes);
    return placed;
  }

  /// Takes the recorded addresses. The address of a variable with several lives holds for all of them.
  void takeRecorded() {
    const model::MemorySpace* space = catalog_.memorySpaces.find(space_);
    std::vector<SharedItem> items;
    for (const LayoutVariable& variable : variables_) {
      PlacedVariable placed = described(variable, variable.address, variable.bytes);
      placed.region = space == nullptr ? "" : space->kind;
      if (variable.row.alwaysLive) layout_.used += placed.bytes;
      for (const Life& life : variable.lives) {
        items.push_back({life.first, life.end, variable.bytes, model::MemoryPlace::anywhere});
        placed.firstStep = placed.firstStep < 0 ? life.first : std::min(placed.firstStep, life.first);
        placed.endStep = std::max(placed.endStep, life.end);
      }
      layout_.variables.push_back(std::move(placed));
    }
    layout_.used += Bytes(demandOf(items).all);
  }

  void divide() {
    const model::MemorySpace* space = catalog_.memorySpaces.find(space_);
    model::UnitShape shape;
    shape.bytes = space == nullptr ? 0 : std::clamp<std::int64_t>(space->bytesPerUnit.count, 0, kMostBytes);
    shape.interleavedStart =
        space == nullptr || space->interleavedStart.count <= 0 || space->interleavedStart.count > shape.bytes
            ? shape.bytes
            : space->interleavedStart.count;
    if (space != nullptr && space->elementBytes.count > 0)
      shape.elementBytes = std::min<std::int64_t>(space->elementBytes.count, kMostBytes);
    std::ranges::stable_sort(variables_, [&](const LayoutVariable& a, const LayoutVariable& b) {
      return categoryOf(a) < categoryOf(b);
    });
    std::vector<SharedItem> items;
    std::vector<const LayoutVariable*> owners, always;
    for (const LayoutVariable& variable : variables_) {
      if (variable.row.alwaysLive) always.push_back(&variable);
      if (!variable.row.alwaysLive && variable.lives.empty())
        layout_.variables.push_back(described(variable, -1, variable.bytes));
      for (const Life& life : variable.lives) {
        if (variable.row.alwaysLive) break;
        // A file may hold any number.
        const bool known = variable.row.place <= model::MemoryPlace::anotherElement;
        items.push_back({life.first, life.end, variable.bytes,
                         known ? variable.row.place : model::MemoryPlace::anywhere});
        owners.push_back(&variable);
      }
    }
    model::UnitDemand demand = demandOf(items);
    for (const LayoutVariable* variable : always) {
      demand.alwaysLive.push_back(variable->bytes);
      demand.alwaysInterleaved.push_back(
          variable->row.place == model::MemoryPlace::interleaved ? variable->bytes : 0);
      layout_.alwaysLive.push_back(categoryOf(*variable));
    }
    layout_.pools = unitPools(shape, demand);
    for (const model::UnitPool& pool : layout_.pools) {
      if (pool.use == model::UnitPool::Use::gap) continue;
      layout_.used += Bytes(pool.bytes);
      if (pool.use == model::UnitPool::Use::alwaysLive)
        addPiece(*always[pool.index], {pool.from, pool.from + pool.bytes}, nullptr, shape);
    }
    const SharedPlaces places = placeShared(items, layout_.pools);
    layout_.misplaced = Bytes(places.misplaced);
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (const AddressSpan& piece : places.pieces[i]) addPiece(*owners[i], piece, &items[i], shape);
    }
    numberPieces();
  }

  void addPiece(const LayoutVariable& variable, AddressSpan piece, const SharedItem* item,
                const model::UnitShape& shape) {
    PlacedVariable placed = described(variable, piece.from, piece.bytes());
    placed.region = nameOf(piece.from < shape.interleavedStart ? model::UnitRegion::nonInterleaved
                           : piece.from < shape.bytes          ? model::UnitRegion::interleaved
                                                               : model::UnitRegion::overflowed);
    if (item != nullptr) {
      placed.firstStep = item->first;
      placed.endStep = item->end;
    }
    layout_.variables.push_back(std::move(placed));
  }

  /// The pieces of a variable in one life.
  void numberPieces() {
    std::map<std::pair<std::int64_t, std::int32_t>, int> counts, seen;
    for (const PlacedVariable& placed : layout_.variables) ++counts[{placed.id.value, placed.firstStep}];
    for (PlacedVariable& placed : layout_.variables) {
      const std::pair key(placed.id.value, placed.firstStep);
      placed.pieces = counts[key];
      placed.piece = seen[key]++;
    }
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  model::MemorySpaceId space_;
  std::int64_t unit_;
  std::vector<LayoutVariable> variables_;
  std::unordered_map<std::int64_t, std::size_t> places_;  ///< index in variables_ of each id
  std::int64_t taken_ = 0;                                ///< bytes of all lives
  UnitLayout layout_;
};

}  // namespace

Result<UnitLayout> unitLayout(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable, model::MemorySpaceId space, std::int64_t unit) {
  return UnitLayouter(source, catalog, executable, space, unit).layOut();
}

}  // namespace pipescope::analysis
