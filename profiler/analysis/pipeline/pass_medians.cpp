#include "profiler/analysis/pipeline/pass_medians.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

/// Lengths of the passes of one kind, in pieces.
class PassLengths {
 public:
  void add(std::int32_t iteration, std::int32_t microBatch, double ticks) {
    const std::pair pass(iteration, microBatch);
    if (!pieces_.empty() && pieces_.back().first == pass) {
      pieces_.back().second += ticks;
    } else {
      pieces_.emplace_back(pass, ticks);
    }
  }

  std::optional<double> median() {
    if (pieces_.empty()) return std::nullopt;
    const auto earlier = [](const Piece& a, const Piece& b) { return a.first < b.first; };
    if (!std::is_sorted(pieces_.begin(), pieces_.end(), earlier))
      std::stable_sort(pieces_.begin(), pieces_.end(), earlier);
    std::vector<double> lengths;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i > 0 && pieces_[i].first == pieces_[i - 1].first) {
        lengths.back() += pieces_[i].second;
      } else {
        lengths.push_back(pieces_[i].second);
      }
    }
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    if (lengths.size() % 2 == 1) return *middle;
    return (*std::max_element(lengths.begin(), middle) + *middle) / 2;
  }

 private:
  using Piece = std::pair<std::pair<std::int32_t, std::int32_t>, double>;  // iteration and micro-batch, ticks
  std::vector<Piece> pieces_;
};

}  // namespace

Result<std::map<int, PassMedians>> passMedians(const model::ProfileSource& source, const Catalog& catalog,
                                               model::ExecutableId executable) {
  std::map<int, PassMedians> medians;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return medians;
  std::map<int, std::pair<PassLengths, PassLengths>> lengths;  // keyed by stage: forward, backward
  PIPESCOPE_TRY(forEachRowOfRun<model::Placement>(source, *run, [&lengths](const model::Placement& p) {
    const bool forward = p.pass == model::Pass::forward;
    const bool backward = p.pass == model::Pass::backward || p.pass == model::Pass::weightGradient;
    if (p.replica != 0 || p.stage < 0 || p.microBatch < 0 || (!forward && !backward)) return;
    auto& own = lengths[p.stage];
    (forward ? own.first : own.second)
        .add(p.iteration, p.microBatch, static_cast<double>((p.end - p.start).count));
  }));
  for (auto& [stage, both] : lengths) medians[stage] = {both.first.median(), both.second.median()};
  return medians;
}

}  // namespace pipescope::analysis
