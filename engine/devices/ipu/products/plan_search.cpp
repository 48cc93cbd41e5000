#include "engine/devices/ipu/products/plan_search.h"

#include <algorithm>

#include "engine/devices/ipu/products/plan_bound.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// A number of parts for an axis, and the size of the largest part in grains.
struct PlanSearchCut {
  std::int64_t parts = 1, grains = 1;
};

/// The numbers of parts worth trying: the fewest for each size of the largest part (C: PopLibs'
/// ceildivConstrainDivisor).
std::vector<PlanSearchCut> cutsOf(std::int64_t grains, std::int64_t tiles) {
  std::vector<PlanSearchCut> cuts;
  cuts.reserve(16);
  for (std::int64_t parts = 1; parts <= std::min(grains, tiles);) {
    const std::int64_t largest = ceilDiv(grains, parts);
    cuts.push_back({parts, largest});
    if (largest == 1) break;
    parts = std::max(parts + 1, ceilDiv(grains, largest - 1));
  }
  return cuts;
}

/// One axis of the split, with the extent of the resulting tile.
struct Axis {
  std::int64_t ConvSplit::*parts = nullptr;
  std::int64_t ConvTile::*grains = nullptr;
  std::array<std::int64_t, kMaximumDims> ConvSplit::*spatialParts = nullptr;
  std::array<std::int64_t, kMaximumDims> ConvTile::*spatialGrains = nullptr;
  std::size_t dim = 0;
  std::vector<PlanSearchCut> cuts;

  std::int64_t& in(ConvSplit& split) const { return parts ? split.*parts : (split.*spatialParts)[dim]; }
  std::int64_t& in(ConvTile& tile) const { return grains ? tile.*grains : (tile.*spatialGrains)[dim]; }
};

}  // namespace

/// Searches the splits of one form.
class SplitSearch {
 public:
  SplitSearch(const Chip& chip, const ConvForm& form, std::int64_t memory, BestSplit& best,
              PassOverheads& overheads)
      : chip_(chip), form_(form), memory_(memory), best_(best), bound_(chip, form, cache_, overheads) {
    const ConvShape& shape = form.shape;
    // A SLIC vertex does one group of channels, and a vertical MAC one output channel.
    const bool slic = form.vertex.method == ConvVertex::Method::slic;
    addAxis(form.groupGrains, &ConvSplit::groups, &ConvTile::groups);
    const bool oneOutput = slic || form.vertex.method == ConvVertex::Method::verticalMac;
    addAxis(form.outGrains, &ConvSplit::outChannels, &ConvTile::outGroups, oneOutput);
    addAxis(shape.batch, &ConvSplit::batch, &ConvTile::batch);
    for (std::size_t i = 0; i < shape.dimCount; ++i)
      addAxis(shape.dims[i].output, &ConvSplit::output, &ConvTile::output, i);
    resultAxes_ = axes_.size();
    addAxis(form.inGrains, &ConvSplit::inChannels, &ConvTile::inGroups, slic);
    // (C: PopLibs, ConvModel.cpp, constructModel: the innermost axis of the kernel is not cut.)
    for (std::size_t i = 0; i + 1 < shape.dimCount; ++i)
      addAxis(shape.dims[i].kernel, &ConvSplit::kernel, &ConvTile::kernel, i);
    // The most parts into which the axes from i on can be cut.
    mostParts_.resize(axes_.size() + 1, 1);
    for (std::size_t i = axes_.size(); i-- > 0;) {
      mostParts_[i] = std::min(chip.tiles, mostParts_[i + 1] * axes_[i].cuts.back().parts);
    }
    least_ = bound_.furtherSplit(ConvSplit{}, largestTile(form, ConvSplit{}), mostParts_[0], kNoLimit);
  }

  /// A lower bound for the cycles of any split.
  std::int64_t bound() const { return least_.cycles; }
  bool canFit() const { return least_.memory <= memory_; }

  /// Starts from one part per axis and changes one axis at a time while that helps. The result is a good
  /// start for prune().
  void descend() {
    ConvSplit split;
    for (const Axis& axis : axes_) axis.in(split) = axis.cuts.front().parts;
    if (split.tiles() > chip_.tiles) return;
    std::int64_t cost = visit(split, largestTile(form_, split));
    for (bool better = true; better;) {
      better = false;
      ConvSplit next = split;
      for (const Axis& axis : axes_) {
        const std::int64_t others = split.tiles() / axis.in(split);
        for (const PlanSearchCut cut : axis.cuts) {
          if (others * cut.parts > chip_.tiles) break;
          ConvSplit candidate = split;
          axis.in(candidate) = cut.parts;
          const std::int64_t found = visit(candidate, largestTile(form_, candidate));
          if (found < cost) {
            cost = found;
            next = candidate;
            better = true;
          }
        }
      }
      split = next;
    }
  }

  /// Looks at all splits except those that a lower bound rules out.
  void prune() {
    const auto useless = [this](PlanBound::Least least) {
      if (least.cycles >= best_.cycles) return true;
      if (least.memory <= memory_) return false;
      missed_ = std::min(missed_, least.cycles);
      return true;
    };
    if (!useless(least_)) start(useless);
  }

  MissedSplit missed() const { return {&form_, missed_}; }
  std::int64_t searched() const { return searched_; }

 private:
  void addAxis(std::int64_t grains, std::int64_t ConvSplit::*parts, std::int64_t ConvTile::*share,
               bool single = false) {
    if (grains > 1) {
      axes_.push_back({parts, share, nullptr, nullptr, 0,
                       single ? std::vector<PlanSearchCut>{{grains, 1}} : cutsOf(grains, chip_.tiles)});
    }
  }
  void addAxis(std::int64_t grains, std::array<std::int64_t, kMaximumDims> ConvSplit::*parts,
               std::array<std::int64_t, kMaximumDims> ConvTile::*share, std::size_t dim) {
    if (grains > 1) axes_.push_back({nullptr, nullptr, parts, share, dim, cutsOf(grains, chip_.tiles)});
  }

  template <class Useless>
  void start(const Useless& useless) {
    ConvSplit split;
    ConvTile tile = largestTile(form_, split);
    enter(split, tile, 0, 1, {}, useless);
  }

  template <class Useless>
  void enter(ConvSplit& split, ConvTile& tile, std::size_t at, std::int64_t used, PlanBound::Passes pass,
             const Useless& useless) {
    if (at == resultAxes_) pass = bound_.passCycles(tile);
    if (at == axes_.size()) {
      visit(split, tile);
      return;
    }
    if (at == resultAxes_ && sumsTakeTooLong(split, tile, used, pass)) return;
    const Axis& axis = axes_[at];
    const std::int64_t whole = axis.in(tile);
    for (const PlanSearchCut cut : axis.cuts) {
      const std::int64_t tiles = used * cut.parts;
      if (tiles > chip_.tiles) break;
      ++searched_;
      axis.in(split) = cut.parts;
      axis.in(tile) = cut.grains;
      const std::int64_t left = std::min(mostParts_[at + 1], chip_.tiles / tiles);
      const PlanBound::Least least = at < resultAxes_
                                         ? bound_.furtherSplit(split, tile, left, best_.cycles)
                                         : bound_.furtherSums(split, tile, left, pass, best_.cycles);
      if (!useless(least)) enter(split, tile, at + 1, tiles, pass, useless);
    }
    axis.in(split) = 1;
    axis.in(tile) = whole;
  }

  /// The bound holds however the sums are cut, and mostly rules all these cuts out.
  bool sumsTakeTooLong(const ConvSplit& split, const ConvTile& tile, std::int64_t used,
                       PlanBound::Passes pass) {
    ++searched_;
    const std::int64_t left = std::min(mostParts_[resultAxes_], chip_.tiles / used);
    return bound_.furtherSums(split, tile, left, pass, best_.cycles).cycles >= best_.cycles;
  }

  /// Costs the split. Returns its cycles, or a huge number if it does not fit.
  std::int64_t visit(const ConvSplit& split, const ConvTile& tile) {
    ++searched_;
    const ConvCosts costs = costsOf(chip_, form_, split, tile, cache_);
    if (costs.temporaryBytes > memory_) {
      missed_ = std::min(missed_, costs.total);
      return std::numeric_limits<std::int64_t>::max() / 2 + costs.temporaryBytes;
    }
    if (costs.total < best_.cycles) best_ = {costs.total, &form_, split};
    return costs.total;
  }

  const Chip& chip_;
  const ConvForm& form_;
  std::int64_t memory_;
  BestSplit& best_;
  std::vector<Axis> axes_;
  std::size_t resultAxes_ = 0;  ///< axes before this one cut results, the others cut partial sums
  std::vector<std::int64_t> mostParts_;
  WorkerCache cache_;
  PlanBound bound_;
  PlanBound::Least least_;
  std::int64_t searched_ = 0;
  std::int64_t missed_ = std::numeric_limits<std::int64_t>::max();
};

FormsSearch::FormsSearch(const Chip& chip, std::vector<ConvForm> forms, std::int64_t memory, BestSplit& best,
                         PassOverheads& overheads)
    : forms_(std::move(forms)), best_(best) {
  searches_.reserve(forms_.size());
  for (const ConvForm& form : forms_) {
    searches_.push_back(std::make_unique<SplitSearch>(chip, form, memory, best, overheads));
  }
  std::stable_sort(searches_.begin(), searches_.end(),
                   [](const auto& a, const auto& b) { return a->bound() < b->bound(); });
}

FormsSearch::~FormsSearch() = default;

std::vector<MissedSplit> FormsSearch::run() {
  // Starts with the most promising forms, because a good split prunes more of the others.
  constexpr int kDescents = 2;
  int descents = 0;
  for (const auto& search : searches_) {
    if (descents == kDescents || search->bound() >= best_.cycles) break;
    if (!search->canFit()) continue;
    search->descend();
    ++descents;
  }
  std::vector<MissedSplit> missed;
  for (const auto& search : searches_) {
    search->prune();
    missed.push_back(search->missed());
  }
  return missed;
}

std::int64_t FormsSearch::searched() const {
  std::int64_t sum = 0;
  for (const auto& search : searches_) sum += search->searched();
  return sum;
}

}  // namespace pipescope::devices::ipu
