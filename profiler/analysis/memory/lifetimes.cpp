#include "profiler/analysis/memory/lifetimes.h"

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {
namespace {

using LifeSpans = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Sorts the spans and joins those that touch each other.
void joinLifeSpans(LifeSpans& spans) {
  std::ranges::sort(spans);
  LifeSpans joined;
  for (const auto& span : spans) {
    if (!joined.empty() && span.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, span.second);
    } else {
      joined.push_back(span);
    }
  }
  spans = std::move(joined);
}

}  // namespace

Result<Lifetimes> lifetimes(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, model::MemorySpaceId space, std::size_t most,
                            base::Progress& progress) {
  const auto anyBlock = [](const model::BlockInfo&, const std::vector<model::ColumnRange>&) { return true; };
  std::unordered_map<std::int64_t, LifeSpans> spans;
  PIPESCOPE_TRY(forEachRow<model::LifeInterval>(
      source, progress, anyBlock, [&](const model::LifeInterval& row, std::int64_t) {
        if (row.firstStep >= 0 && row.endStep > row.firstStep)
          spans[row.variable.value].emplace_back(row.firstStep, row.endStep);
        return true;
      }));
  std::vector<model::Variable> found;
  PIPESCOPE_TRY(
      forEachRow<model::Variable>(source, progress, anyBlock, [&](const model::Variable& row, std::int64_t) {
        if (row.executable == executable && row.space == space && !row.alwaysLive &&
            spans.contains(row.id.value))
          found.push_back(row);
        return true;
      }));
  std::ranges::stable_sort(
      found, [](const model::Variable& a, const model::Variable& b) { return a.bytes > b.bytes; });
  Lifetimes result;
  result.all = static_cast<std::int64_t>(found.size());
  if (found.size() > most) found.resize(most);
  for (const model::Variable& row : found) {
    LifeSpans& own = spans[row.id.value];
    joinLifeSpans(own);
    result.variables.push_back(
        {row.id, catalog.namePath(row.debugContext), row.category, row.shape, row.bytes, std::move(own)});
  }
  return result;
}

}  // namespace pipescope::analysis
