#include "engine/devices/ipu/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "engine/devices/ipu/plan_bound.h"
#include "engine/devices/ipu/plan_cost.h"
#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

/// Most parts that a product is done in, one after another.
constexpr std::int64_t kMaximumSerial = 128;

/// A number of parts of an axis, and the grains that the largest then has.
struct Cut {
  std::int64_t parts = 1, grains = 1;
};

/// Numbers of parts worth trying: the fewest for each size of the largest part.
std::vector<Cut> cutsOf(std::int64_t grains, std::int64_t tiles) {
  std::vector<Cut> cuts;
  for (std::int64_t parts = 1; parts <= std::min(grains, tiles);) {
    const std::int64_t largest = ceilDiv(grains, parts);
    cuts.push_back({parts, largest});
    if (largest == 1) break;
    parts = std::max(parts + 1, ceilDiv(grains, largest - 1));
  }
  return cuts;
}

/// One axis of the split and of the tile that results.
struct Axis {
  std::int64_t ConvSplit::* parts = nullptr;
  std::int64_t ConvTile::* grains = nullptr;
  std::array<std::int64_t, kMaximumDims> ConvSplit::* spatialParts = nullptr;
  std::array<std::int64_t, kMaximumDims> ConvTile::* spatialGrains = nullptr;
  std::size_t dim = 0;
  std::vector<Cut> cuts;

  std::int64_t& in(ConvSplit& split) const { return parts ? split.*parts : (split.*spatialParts)[dim]; }
  std::int64_t& in(ConvTile& tile) const { return grains ? tile.*grains : (tile.*spatialGrains)[dim]; }
};

struct Best {
  std::int64_t cycles = std::numeric_limits<std::int64_t>::max();
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
  const ConvForm* form = nullptr;
  ConvSplit split;
};

/// Looks through the splits of one form.
class Search {
 public:
  Search(const Chip& chip, const ConvForm& form, std::int64_t memory, Best& fitting, Best& smallest)
      : chip_(chip), form_(form), memory_(memory), fitting_(fitting), smallest_(smallest),
        bound_(chip, form, cache_) {
    const ConvShape& shape = form.shape;
    // A SLIC vertex does one group of channels.
    const bool slic = form.vertex.method == ConvVertex::Method::slic;
    addAxis(form.groupGrains, &ConvSplit::groups, &ConvTile::groups);
    addAxis(form.outGrains, &ConvSplit::outChannels, &ConvTile::outGroups, slic);
    addAxis(shape.batch, &ConvSplit::batch, &ConvTile::batch);
    for (std::size_t i = 0; i < shape.dimCount; ++i) addAxis(shape.dims[i].output, &ConvSplit::output, &ConvTile::output, i);
    resultAxes_ = axes_.size();
    addAxis(form.inGrains, &ConvSplit::inChannels, &ConvTile::inGroups, slic);
    for (std::size_t i = 0; i < shape.dimCount; ++i) addAxis(shape.dims[i].kernel, &ConvSplit::kernel, &ConvTile::kernel, i);
    // What the axes from i on can be cut into at most.
    mostParts_.resize(axes_.size() + 1, 1);
    for (std::size_t i = axes_.size(); i-- > 0;) {
      mostParts_[i] = std::min(chip.tiles, mostParts_[i + 1] * axes_[i].cuts.back().parts);
    }
    least_ = bound_.furtherSplit(ConvSplit{}, largestTile(form, ConvSplit{}), mostParts_[0]);
  }

  /// The fewest cycles that any split can take.
  std::int64_t bound() const { return least_.cycles; }
  bool canFit() const { return least_.memory <= memory_; }

  /// From one part per axis on, changes one axis at a time as long as that helps: a good start for prune().
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
        for (const Cut cut : axis.cuts) {
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

  /// All splits but those that a lower bound rules out.
  void prune() {
    const auto useless = [this](PlanBound::Least least) {
      if (least.cycles >= fitting_.cycles) return true;
      if (least.memory <= memory_) return false;
      missed_ = std::min(missed_, least.cycles);
      return true;
    };
    if (!useless(least_)) start(useless);
  }

  /// The split that takes least memory, whatever its cycles.
  void shrink() {
    shrinking_ = true;
    const auto useless = [this](PlanBound::Least least) { return least.memory >= smallest_.memory; };
    if (!useless(least_)) start(useless);
  }

  /// At least as few cycles as the fastest split that did not fit.
  std::int64_t missed() const { return missed_; }

 private:
  void addAxis(std::int64_t grains, std::int64_t ConvSplit::* parts, std::int64_t ConvTile::* share, bool single = false) {
    if (grains > 1) {
      axes_.push_back({parts, share, nullptr, nullptr, 0, single ? std::vector<Cut>{{grains, 1}} : cutsOf(grains, chip_.tiles)});
    }
  }
  void addAxis(std::int64_t grains, std::array<std::int64_t, kMaximumDims> ConvSplit::* parts,
               std::array<std::int64_t, kMaximumDims> ConvTile::* share, std::size_t dim) {
    if (grains > 1) axes_.push_back({nullptr, nullptr, parts, share, dim, cutsOf(grains, chip_.tiles)});
  }

  template <class Useless>
  void start(const Useless& useless) {
    ConvSplit split;
    ConvTile tile = largestTile(form_, split);
    enter(split, tile, 0, 1, 0, useless);
  }

  template <class Useless>
  void enter(ConvSplit& split, ConvTile& tile, std::size_t at, std::int64_t used, std::int64_t pass, const Useless& useless) {
    if (at == resultAxes_) pass = bound_.passCycles(tile);
    if (at == axes_.size()) {
      visit(split, tile);
      return;
    }
    const Axis& axis = axes_[at];
    const std::int64_t whole = axis.in(tile);
    for (const Cut cut : axis.cuts) {
      const std::int64_t tiles = used * cut.parts;
      if (tiles > chip_.tiles) break;
      axis.in(split) = cut.parts;
      axis.in(tile) = cut.grains;
      const std::int64_t left = std::min(mostParts_[at + 1], chip_.tiles / tiles);
      const PlanBound::Least least = at < resultAxes_ ? bound_.furtherSplit(split, tile, left) : bound_.furtherSums(split, tile, left, pass);
      if (!useless(least)) enter(split, tile, at + 1, tiles, pass, useless);
    }
    axis.in(split) = 1;
    axis.in(tile) = whole;
  }

  /// Notes the split; returns its cycles, or far more where it does not fit.
  std::int64_t visit(const ConvSplit& split, const ConvTile& tile) {
    const ConvCosts costs = costsOf(chip_, form_, split, tile, cache_);
    if (shrinking_ && costs.temporaryBytes < smallest_.memory) smallest_ = {costs.total, costs.temporaryBytes, &form_, split};
    if (costs.temporaryBytes > memory_) {
      missed_ = std::min(missed_, costs.total);
      return std::numeric_limits<std::int64_t>::max() / 2 + costs.temporaryBytes;
    }
    if (costs.total < fitting_.cycles) fitting_ = {costs.total, costs.temporaryBytes, &form_, split};
    return costs.total;
  }

  const Chip& chip_;
  const ConvForm& form_;
  std::int64_t memory_;
  Best& fitting_;
  Best& smallest_;
  std::vector<Axis> axes_;
  std::size_t resultAxes_ = 0;  ///< axes before this one cut results, the others partial sums
  std::vector<std::int64_t> mostParts_;
  WorkerCache cache_;
  PlanBound bound_;
  PlanBound::Least least_;
  bool shrinking_ = false;
  std::int64_t missed_ = std::numeric_limits<std::int64_t>::max();
};

/// The forms of a product: operands swapped or not, each set of axes expanded, each vertex.
std::vector<ConvForm> formsOf(const Chip& chip, const ConvShape& shape, std::int64_t serial) {
  std::vector<ConvForm> forms;
  for (const bool swapped : {shape.matmul, !shape.matmul}) {
    const ConvShape base = swapped ? swapOperands(shape) : shape;
    for (std::size_t set = 0; set < (std::size_t{1} << shape.dimCount); ++set) {
      ConvShape changed = base;
      std::array<bool, kMaximumDims> expanded{};
      bool useful = true;
      for (std::size_t i = 0; i < shape.dimCount && useful; ++i) {
        if (((set >> i) & 1) == 0) continue;
        useful = !base.dims[i].expanded();
        expanded[i] = true;
        changed = expandDim(changed, i);
      }
      if (!useful) continue;
      const ConvShape flat = flatten(changed);
      for (const ConvVertex& vertex : convVertices(chip, flat)) {
        ConvForm form = makeForm(flat, swapped, expanded, vertex, serial);
        // Serial parts must divide the output channels' groups, or the last part would be of another shape.
        if ((form.shape.outputChannels / vertex.outGroup) % serial != 0) continue;
        forms.push_back(form);
        form.arrangeEach = serial > 1 && (form.arrangeInput || form.arrangeWeights);
        if (form.arrangeEach) forms.push_back(form);
      }
    }
  }
  return forms;
}

/// All forms with so many serial parts.
class FormsSearch {
 public:
  FormsSearch(const Chip& chip, std::vector<ConvForm> forms, std::int64_t memory, Best& fitting, Best& smallest)
      : forms_(std::move(forms)), fitting_(fitting) {
    searches_.reserve(forms_.size());
    for (const ConvForm& form : forms_) searches_.push_back(std::make_unique<Search>(chip, form, memory, fitting, smallest));
    std::stable_sort(searches_.begin(), searches_.end(), [](const auto& a, const auto& b) { return a->bound() < b->bound(); });
  }

  /// Finds the fastest; returns at least as few cycles as the fastest that did not fit.
  std::int64_t run() {
    for (const auto& search : searches_) {
      if (search->bound() < fitting_.cycles && search->canFit()) search->descend();
    }
    std::int64_t missed = std::numeric_limits<std::int64_t>::max();
    for (const auto& search : searches_) {
      search->prune();
      missed = std::min(missed, search->missed());
    }
    return missed;
  }

  void shrink() {
    for (const auto& search : searches_) search->shrink();
  }

 private:
  std::vector<ConvForm> forms_;
  Best& fitting_;
  std::vector<std::unique_ptr<Search>> searches_;
};

std::string keyOf(const ConvShape& shape, std::int64_t memory) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", memory, shape.matmul, static_cast<int>(shape.pass), shape.groups,
                                shape.batch, shape.inputChannels, shape.outputChannels, shape.half, shape.halfPartials);
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const ConvDim& d = shape.dims[i];
    key += fmt::format(" {},{},{},{},{},{},{}", d.input, d.kernel, d.output, d.stride, d.inputDilation, d.kernelDilation, d.padding);
  }
  return key;
}

}  // namespace

std::string ConvPlan::describe() const {
  return fmt::format("{} ({} in, {} out), {} tiles: groups {}, batch {}, field {}x{}x{}, kernel {}x{}x{}, in channels {}, out "
                     "channels {}, {} serial part{}{}",
                     vertexName(form.shape, form.vertex, usesOneByOne(form.shape, form.vertex, tile)), form.vertex.inGroup,
                     form.vertex.outGroup, split.tiles(),
                     split.groups, split.batch, split.output[0], split.output[1], split.output[2], split.kernel[0],
                     split.kernel[1], split.kernel[2], split.inChannels, split.outChannels, form.serial, form.serial == 1 ? "" : "s",
                     form.swapped ? ", operands swapped" : "");
}

std::shared_ptr<const ConvPlan> Planner::plan(const ConvShape& shape, double proportion) {
  const auto memory = static_cast<std::int64_t>(proportion * static_cast<double>(chip_.bytesPerTile));
  const std::string key = keyOf(shape, memory);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  Best fitting, smallest;
  std::vector<std::unique_ptr<FormsSearch>> searches;
  for (std::int64_t serial = 1; serial <= kMaximumSerial; serial *= 2) {
    searches.push_back(std::make_unique<FormsSearch>(chip_, formsOf(chip_, shape, serial), memory, fitting, smallest));
    // More parts only ever cost cycles; they are worth trying while memory kept a faster split out.
    if (searches.back()->run() >= fitting.cycles) break;
  }
  if (!fitting.form) {
    for (auto search = searches.rbegin(); search != searches.rend(); ++search) (*search)->shrink();
  }
  const Best& best = fitting.form ? fitting : smallest;
  auto plan = std::make_shared<ConvPlan>();
  plan->form = *best.form;
  plan->split = best.split;
  plan->tile = largestTile(*best.form, best.split);
  WorkerCache cache;
  plan->costs = costsOf(chip_, *best.form, best.split, plan->tile, cache);
  const std::lock_guard lock(mutex_);
  return plans_.emplace(key, std::move(plan)).first->second;
}

std::vector<ConvShare> sharesOf(const ConvPlan& plan) {
  const ConvForm& form = plan.form;
  struct Parts {
    std::int64_t count, grains;
  };
  std::vector<ConvShare> shares{{1, ConvTile{}}};
  const auto cut = [&](std::int64_t grains, std::int64_t parts, const auto& field) {
    const std::int64_t more = grains % parts;
    std::vector<ConvShare> next;
    for (const ConvShare& share : shares) {
      for (const Parts part : {Parts{more, grains / parts + 1}, Parts{parts - more, grains / parts}}) {
        if (part.count == 0 || part.grains == 0) continue;
        ConvShare smaller = share;
        smaller.tiles *= part.count;
        field(smaller.tile) = part.grains;
        next.push_back(smaller);
      }
    }
    shares = std::move(next);
  };
  cut(form.groupGrains, plan.split.groups, [](ConvTile& t) -> std::int64_t& { return t.groups; });
  cut(form.shape.batch, plan.split.batch, [](ConvTile& t) -> std::int64_t& { return t.batch; });
  cut(form.outGrains, plan.split.outChannels, [](ConvTile& t) -> std::int64_t& { return t.outGroups; });
  cut(form.inGrains, plan.split.inChannels, [](ConvTile& t) -> std::int64_t& { return t.inGroups; });
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    cut(form.shape.dims[i].output, plan.split.output[i], [i](ConvTile& t) -> std::int64_t& { return t.output[i]; });
    cut(form.shape.dims[i].kernel, plan.split.kernel[i], [i](ConvTile& t) -> std::int64_t& { return t.kernel[i]; });
  }
  return shares;
}

ConvCosts costsOf(const Chip& chip, const ConvPlan& plan, const ConvTile& tile) {
  WorkerCache cache;
  return costsOf(chip, plan.form, plan.split, tile, cache);
}

}  // namespace pipescope::devices::ipu
