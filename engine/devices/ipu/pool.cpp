// Pooling. Batch, groups of channels and field are cut over the tiles so that vertex and exchange take the
// fewest cycles. All inputs of a tile come by exchange. (Plan and cycles: PopLibs popnn, C.)
#include <algorithm>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/products/plan_cost.h"
#include "engine/ops/core/rounding.h"
#include "profiler/base/check.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// Figures of a pooling's vertex.
struct PoolRow {
  std::int64_t loop = 0;  ///< cycles for an element of the window, before those of its row of results
  /// True if the gradient reads the input and the result besides the result's gradient.
  bool gradientReadsInput = false;
};

constexpr PoolRow rowOf(ops::PoolFunction function) {
  switch (function) {
    case ops::PoolFunction::max:
      return {4, true};
    case ops::PoolFunction::average:
      return {5, false};
  }
  PIPESCOPE_CHECK(false, "a pooling that is not in the enumeration");
}

struct Extent {
  std::int64_t inputs = 1, outputs = 1, window = 1;  ///< numbers of positions
};

base::Result<Extent> extentOf(const ops::Pool& work, const IpuLoweringContext& context) {
  const std::size_t n = work.field.size();
  if (n == 0 || work.kernel.size() != n || work.output.size() != n || work.stride.size() != n) {
    return base::badInput(
        context.what +
        ": field, kernel, output and stride of a pooling must have the same number of axes, at least one.");
  }
  PIPESCOPE_TRY(checkElements("field", work.field, context));
  PIPESCOPE_TRY(checkElements("kernel", work.kernel, context));
  PIPESCOPE_TRY(checkElements("output", work.output, context));
  PIPESCOPE_TRY(checkElements("stride", work.stride, context));
  Extent extent;
  for (std::size_t i = 0; i < n; ++i) {
    extent.inputs *= work.field[i];
    extent.outputs *= work.output[i];
    extent.window *= work.kernel[i];
  }
  PIPESCOPE_TRY(checkElements("number of inputs", {extent.inputs, work.batch, work.channels}, context));
  PIPESCOPE_TRY(checkElements("number of outputs", {extent.outputs, work.batch, work.channels, extent.window},
                              context));
  return extent;
}

/// The extents that are cut over the tiles: batch, groups of channels and field.
struct PoolCut {
  std::int64_t batch = 1, groups = 1;
  std::vector<std::int64_t> field;
};

class PoolPlan {
 public:
  PoolPlan(const Chip& chip, const ops::Pool& work)
      : chip_(chip),
        work_(work),
        // The gradient's results are as large as the forward input.
        results_(work.backward ? work.field : work.output),
        bytes_(graph::sizeOf(work.type)),
        vector_(chip.vectorWidth(work.type)) {
    const std::int64_t most =
        std::max<std::int64_t>(1, std::min<std::int64_t>(kGrains, work.channels / vector_));
    for (grains_ = 1; grains_ <= most; grains_ *= 2) search();
    grains_ = bestGrains_;
  }

  std::int64_t tiles() const { return tilesOf(best_); }
  std::int64_t compute() const { return vertexCycles(shareOf(best_)); }
  /// Cycles of putting what arrived into rows of the vertex's groups of channels.
  std::int64_t arrangement() const { return arrangeCycles(received(), grains_ * chip_.vectorBytes); }
  std::int64_t received() const { return receivedBytes(shareOf(best_)); }
  std::int64_t rowBytes() const { return results_.back() * grains_ * vector_ * bytes_; }
  std::int64_t results() const {
    const PoolCut share = shareOf(best_);
    std::int64_t count = share.batch * share.groups * grains_ * vector_;
    for (const std::int64_t extent : share.field) count *= extent;
    return count * bytes_;
  }

 private:
  /// The most vectors of channels that a vertex does together: 16 channels of float16.
  static constexpr std::int64_t kGrains = 4;

  std::int64_t groups() const { return ceilDiv(work_.channels, grains_ * vector_); }
  static std::int64_t tilesOf(const PoolCut& cut) {
    std::int64_t tiles = cut.batch * cut.groups;
    for (const std::int64_t parts : cut.field) tiles *= parts;
    return tiles;
  }
  PoolCut shareOf(const PoolCut& cut) const {
    PoolCut share{ceilDiv(work_.batch, cut.batch), ceilDiv(groups(), cut.groups), {}};
    for (std::size_t i = 0; i < results_.size(); ++i)
      share.field.push_back(ceilDiv(results_[i], cut.field[i]));
    return share;
  }

  void search() {
    PoolCut cut;
    cut.field.assign(results_.size(), 1);
    each(work_.batch, 1, [&](std::int64_t batch) {
      cut.batch = batch;
      each(groups(), batch, [&](std::int64_t parts) {
        cut.groups = parts;
        searchField(cut, 0, batch * parts);
      });
    });
  }
  void searchField(PoolCut& cut, std::size_t axis, std::int64_t used) {
    if (axis == results_.size()) {
      const PoolCut share = shareOf(cut);
      const std::int64_t cycles =
          vertexCycles(share) +
          static_cast<std::int64_t>(static_cast<double>(receivedBytes(share)) / chip_.exchangeBytesPerCycle);
      if (cycles >= least_) return;
      least_ = cycles;
      best_ = cut;
      bestGrains_ = grains_;
      return;
    }
    each(results_[axis], used, [&](std::int64_t parts) {
      cut.field[axis] = parts;
      searchField(cut, axis + 1, used * parts);
    });
    cut.field[axis] = 1;
  }
  /// The numbers of parts that give shares of different sizes.
  template <class F>
  void each(std::int64_t extent, std::int64_t used, F visit) const {
    for (std::int64_t parts = 1; parts <= extent && parts * used <= chip_.tiles;) {
      const std::int64_t share = ceilDiv(extent, parts);
      visit(parts);
      if (share == 1) break;
      parts = std::max(parts + 1, ceilDiv(extent, share - 1));
    }
  }

  /// Results are dealt to the workers row by row. A row takes 15 cycles and an element of the window 23. Each
  /// group of channels takes 11 (21 in a gradient), and each vector its loop over the row.
  std::int64_t vertexCycles(const PoolCut& share) const {
    std::int64_t positions = share.batch;
    for (const std::int64_t extent : share.field) positions *= extent;
    const std::int64_t mine = ceilDiv(positions, chip_.workers);
    std::int64_t width = std::min(mine, share.field.back());
    const std::int64_t rows = ceilDiv(mine, share.field.back());
    double window = 1;
    for (std::size_t i = 0; i < work_.kernel.size(); ++i) {
      const bool last = i + 1 == work_.kernel.size();
      // Only some of the results touch an element of the window if there is a stride.
      const std::int64_t skipped = work_.backward && !last ? std::min(work_.stride[i], work_.kernel[i]) : 1;
      const double elements = static_cast<double>(work_.kernel[i]) / static_cast<double>(skipped);
      // If the window is as large as the field, its elements touch no more positions than there are.
      const std::int64_t most = !work_.backward ? work_.field[i] : last ? work_.kernel[i] : work_.output[i];
      window *= std::min(elements, static_cast<double>(most));
    }
    if (work_.backward)
      width =
          std::min(ceilDiv(width, std::min(work_.stride.back(), work_.kernel.back())), work_.output.back());
    const std::int64_t loop = work_.backward ? 7 + 5 * width : rowOf(work_.function).loop + 3 * width;
    const std::int64_t item = 23 + share.groups * ((work_.backward ? 21 : 11) + grains_ * (3 + loop));
    const auto items = static_cast<std::int64_t>(window * static_cast<double>(item));
    return 13 + chip_.workers * (34 + rows * (15 + items));
  }

  std::int64_t receivedBytes(const PoolCut& share) const {
    std::int64_t inputs = share.batch * share.groups * grains_ * vector_, outputs = inputs;
    for (std::size_t i = 0; i < share.field.size(); ++i) {
      const std::int64_t stride = work_.stride[i], kernel = work_.kernel[i];
      if (work_.backward) {
        inputs *= share.field[i];
        outputs *= std::min(work_.output[i], (share.field[i] + kernel - 2) / stride + 1);
      } else {
        inputs *= std::min(work_.field[i], (share.field[i] - 1) * stride + kernel);
      }
    }
    if (!work_.backward) return inputs * bytes_;
    return (rowOf(work_.function).gradientReadsInput ? inputs + 2 * outputs : outputs) * bytes_;
  }

  const Chip& chip_;
  const ops::Pool& work_;
  const std::vector<std::int64_t>& results_;
  std::int64_t bytes_, vector_, grains_ = 1, bestGrains_ = 1;
  PoolCut best_;
  std::int64_t least_ = INT64_MAX;
};

}  // namespace

base::Result<LoweredWork> lower(const ops::Pool& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("batch", {work.batch}, context));
  PIPESCOPE_TRY(checkElements("channels", {work.channels}, context));
  PIPESCOPE_TRY(extentOf(work, context));
  const Chip& chip = context.chip;
  const PoolPlan plan(chip, work);
  LoweredWork lowered;
  const TileRuns received = {{0, plan.tiles(), plan.received()}};
  lowered.exchange(chip, "Pool/Exchange", received, 1, plan.rowBytes());
  lowered.compute(chip, "Pool/OnTileCopy", {{0, plan.tiles(), plan.arrangement()}},
                  {"popops::OnTileCopy", kCodeCopy, kStateSimple, 0});
  const std::string name = std::string(toString(work.function)) + (work.backward ? "PoolGradient" : "Pool");
  const std::size_t last = lowered.compute(chip, "Pool", {{0, plan.tiles(), plan.compute()}},
                                           {"popnn::" + name + (isHalf(work.type) ? "<half>" : "<float>"),
                                            kCodePooling, kStateSimple, 12 * chip.workers});
  lowered.hold("Windows", received, 0, last + 1, Temporary::Place::ownElement);
  return lowered;
}

}  // namespace pipescope::devices::ipu
