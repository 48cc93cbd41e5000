#include "profiler/analysis/timeline/range.h"

#include "profiler/analysis/timeline/range_reader.h"

namespace pipescope::analysis {
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

}  // namespace pipescope::analysis
