#include "profiler/analysis/timeline/name_uses.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {
namespace {

bool equalInAnyCase(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// The steps of one name in one segment, in ticks of the segment's device.
struct SegmentShare {
  std::int64_t steps = 0;
  Ticks sum, min, max, firstOffset;
};

class NameCollector {
 public:
  NameCollector(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
                const NameQuery& query, base::Progress& progress)
      : source_(source), catalog_(catalog), executable_(executable), query_(query), progress_(progress) {}

  Result<NameUses> collect() {
    PIPESCOPE_TRY(readSteps());
    if (names_.empty()) return NameUses{};
    PIPESCOPE_TRY(readPlacements());
    NameUses found;
    for (NameUse& name : names_) {
      if (name.count == 0) continue;
      found.count += name.count;
      found.names.push_back(std::move(name));
    }
    std::ranges::stable_sort(found.names, {}, &NameUse::first);
    return found;
  }

 private:
  /// The index of the name of a program's steps; −1: it does not match.
  int nameOf(const model::Step& step) {
    const auto [known, added] = programs_.try_emplace(step.program.value, -1);
    if (!added || !catalog_.programs.contains(step.program)) return known->second;
    const model::Program program = catalog_.programs[step.program];
    std::string path = catalog_.namePath(program.debugContext);
    if (path.empty()) path = program.kind;
    if (!query_.matches(path)) return -1;
    const auto [name, isNew] = byPath_.try_emplace(path, static_cast<int>(names_.size()));
    if (isNew) names_.push_back({.path = path, .kind = step.kind});
    return known->second = name->second;
  }

  base::Status readSteps() {
    const std::size_t column = columnOf<model::Step>("segment");
    return forEachRow<model::Step>(
        source_, progress_,
        [&](const model::BlockInfo&, const std::vector<model::ColumnRange>& ranges) {
          return std::ranges::any_of(catalog_.segments, [&](const model::Segment& segment) {
            return segment.executable == executable_ && ranges[column].mayHold(segment.id.value);
          });
        },
        [&](const model::Step& step, std::int64_t) {
          const model::Segment* segment = catalog_.segments.find(step.segment);
          if (segment == nullptr || segment->executable != executable_) return true;
          if (const int name = nameOf(step); name >= 0) add(shares_[step.segment.value][name], step);
          return true;
        });
  }

  static void add(SegmentShare& share, const model::Step& step) {
    share.min = share.steps == 0 ? step.ticks : std::min(share.min, step.ticks);
    share.firstOffset = share.steps == 0 ? step.offset : std::min(share.firstOffset, step.offset);
    share.max = std::max(share.max, step.ticks);
    share.sum += step.ticks;
    ++share.steps;
  }

  base::Status readPlacements() {
    const std::size_t column = columnOf<model::Placement>("segment");
    return forEachRow<model::Placement>(
        source_, progress_,
        [&](const model::BlockInfo&, const std::vector<model::ColumnRange>& ranges) {
          return std::ranges::any_of(
              shares_, [&](const auto& segment) { return ranges[column].mayHold(segment.first); });
        },
        [&](const model::Placement& placement, std::int64_t) {
          const auto shares = shares_.find(placement.segment.value);
          if (shares == shares_.end()) return true;
          for (const auto& [name, share] : shares->second)
            add(names_[static_cast<std::size_t>(name)], share, placement);
          return true;
        });
  }

  void add(NameUse& name, const SegmentShare& share, const model::Placement& placement) const {
    const auto axis = [&](Ticks ticks) { return catalog_.toAxis(placement.device, ticks); };
    const Ticks first = axis(placement.start + share.firstOffset);
    name.min = name.count == 0 ? axis(share.min) : std::min(name.min, axis(share.min));
    name.first = name.count == 0 ? first : std::min(name.first, first);
    name.max = std::max(name.max, axis(share.max));
    name.sum += axis(share.sum);
    name.count += share.steps;
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  const NameQuery& query_;
  base::Progress& progress_;
  std::vector<NameUse> names_;
  std::unordered_map<std::string, int> byPath_;
  std::unordered_map<std::int64_t, int> programs_;
  std::unordered_map<std::int64_t, std::map<int, SegmentShare>> shares_;  ///< keyed by segment, then name
};

}  // namespace

bool NameQuery::matches(const std::string& path) const {
  if (whole) return path == text;
  return std::search(path.begin(), path.end(), text.begin(), text.end(), equalInAnyCase) != path.end();
}

Result<NameUses> nameUses(const model::ProfileSource& source, const Catalog& catalog,
                          model::ExecutableId executable, const NameQuery& query, base::Progress& progress) {
  return NameCollector(source, catalog, executable, query, progress).collect();
}

}  // namespace pipescope::analysis
