#include "profiler/analysis/timeline/range.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/timeline/range_reader.h"

namespace pipescope::analysis {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool holds(const std::string& text, const std::string& wanted) {
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace

Result<std::shared_ptr<const RangeIndex>> RangeIndex::make(std::shared_ptr<const model::ProfileSource> source,
                                                           std::shared_ptr<const Catalog> catalog) {
  auto index = std::shared_ptr<RangeIndex>(new RangeIndex());
  PIPESCOPE_ASSIGN(index->placements_, source->blocks<model::Placement>());
  PIPESCOPE_ASSIGN(index->nodes_, source->blocks<model::LevelNode>());
  PIPESCOPE_ASSIGN(index->steps_, StepBlocks::make(*source));
  index->source_ = std::move(source);
  index->catalog_ = std::move(catalog);
  return std::shared_ptr<const RangeIndex>(std::move(index));
}

Result<std::vector<StepSpan>> RangeIndex::steps(const RangeRequest& range, Ticks resolution,
                                                base::Progress& progress) const {
  std::vector<StepSpan> answer;
  PIPESCOPE_TRY(steps(range, resolution, progress, answer));
  return answer;
}

base::Status RangeIndex::steps(const RangeRequest& range, Ticks resolution, base::Progress& progress,
                               std::vector<StepSpan>& answer) const {
  return RangeReader(*this, range, progress).spans(resolution, answer);
}

Result<std::vector<StepSums>> RangeIndex::sums(const RangeRequest& range, SumBy by,
                                               base::Progress& progress) const {
  return RangeReader(*this, range, progress).sums(by);
}

Result<std::vector<LiveEntry>> RangeIndex::liveAt(model::MemorySpaceId space, std::int32_t step,
                                                  bool alwaysLive, base::Progress& progress) const {
  std::vector<LiveEntry> found;
  std::set<std::int64_t> live;
  const std::size_t first = columnOf<model::LifeInterval>("first_step"),
                    end = columnOf<model::LifeInterval>("end_step");
  PIPESCOPE_TRY(forEachRow<model::LifeInterval>(
      *source_, progress,
      [&](const auto&, const auto& ranges) {
        return (!ranges[first].known || ranges[first].smallest <= step) &&
               (!ranges[end].known || ranges[end].largest > step);
      },
      [&](const model::LifeInterval& row, std::int64_t) {
        if (row.firstStep <= step && step < row.endStep) live.insert(row.variable.value);
        return true;
      }));
  const std::size_t spaceColumn = columnOf<model::Variable>("memory_space");
  PIPESCOPE_TRY(forEachRow<model::Variable>(
      *source_, progress,
      [&](const auto&, const auto& ranges) { return ranges[spaceColumn].mayHold(space.value); },
      [&](const model::Variable& row, std::int64_t index) {
        if (row.space != space || (row.alwaysLive ? !alwaysLive : live.count(index) == 0)) return true;
        found.push_back(
            {row.id, catalog_->namePath(row.debugContext), row.category, row.bytes, row.alwaysLive});
        return true;
      }));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return found;
}

Result<LivePeak> RangeIndex::peakIn(model::ExecutableId executable, model::MemorySpaceId space,
                                    std::int32_t first, std::int32_t end, base::Progress& progress) const {
  LivePeak peak;
  const std::size_t spaceColumn = columnOf<model::LivenessStep>("memory_space"),
                    index = columnOf<model::LivenessStep>("index");
  PIPESCOPE_TRY(forEachRow<model::LivenessStep>(
      *source_, progress,
      [&](const auto&, const auto& ranges) {
        return ranges[spaceColumn].mayHold(space.value) &&
               ranges[index].mayMeet(first, std::int64_t{end} - 1);
      },
      [&](const model::LivenessStep& row, std::int64_t) {
        if (row.executable != executable || row.space != space || row.index < first || row.index >= end)
          return true;
        if (peak.step < 0 || row.notAlwaysLive > peak.notAlwaysLive) peak = {row.index, row.notAlwaysLive};
        return true;
      }));
  return peak;
}

Result<std::vector<NameHit>> RangeIndex::search(const std::string& text, std::size_t most,
                                                base::Progress& progress) const {
  std::vector<NameHit> hits;
  const auto any = [](const auto&, const auto&) { return true; };
  PIPESCOPE_TRY(forEachRow<model::DebugContext>(
      *source_, progress, any, [&](const model::DebugContext& row, std::int64_t) {
        if (holds(row.name, text))
          hits.push_back({NameHit::What::name, row.id.value, catalog_->namePath(row.id)});
        return hits.size() < most;
      }));
  for (const model::Segment& segment : catalog_->segments) {
    if (hits.size() >= most) return hits;
    if (holds(segment.name, text)) hits.push_back({NameHit::What::segment, segment.id.value, segment.name});
  }
  if (hits.size() >= most) return hits;
  std::set<std::int64_t> names;  // of hits: their variables are hits too
  for (const NameHit& hit : hits) {
    if (hit.what == NameHit::What::name) names.insert(hit.id);
  }
  PIPESCOPE_TRY(
      forEachRow<model::Variable>(*source_, progress, any, [&](const model::Variable& row, std::int64_t) {
        if (names.count(row.debugContext.value) != 0 || holds(row.category, text))
          hits.push_back({NameHit::What::variable, row.id.value, catalog_->namePath(row.debugContext)});
        return hits.size() < most;
      }));
  return hits;
}

}  // namespace pipescope::analysis
