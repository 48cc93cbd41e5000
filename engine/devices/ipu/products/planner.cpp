#include "engine/devices/ipu/products/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "engine/devices/ipu/products/joint_plan.h"
#include "engine/devices/ipu/products/plan_cost.h"
#include "engine/devices/ipu/products/plan_search.h"
#include "engine/ops/core/rounding.h"
#include "profiler/base/log.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// The numbers of serial parts that a product may be done in. They lie far apart, because each costs a search
/// if memory is short.
constexpr std::int64_t kSerial[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128};

/// Adds all forms of a product with its operands swapped or not: with each set of axes expanded, with each
/// vertex.
void addForms(const Chip& chip, const ConvShape& shape, bool swapped, std::int64_t serial,
              std::vector<ConvForm>& forms) {
  const ConvShape base = swapped ? swapOperands(shape) : shape;
  for (std::size_t set = 0; set < (std::size_t{1} << shape.dimCount); ++set) {
    ConvShape changed = base;
    std::array<bool, kMaximumDims> expanded{};
    bool useful = true;
    for (std::size_t i = 0; i < shape.dimCount && useful; ++i) {
      if (((set >> i) & 1) == 0) continue;
      // (C: PopLibs, ConvPlan.cpp, getExpandDimsCandidates.)
      useful = !base.dims[i].expanded() && base.dims[i].input >= base.dims[i].kernel;
      expanded[i] = true;
      changed = expandDim(changed, i);
    }
    if (!useful) continue;
    const ConvShape flat = flatten(changed);
    for (const std::int64_t factor : groupFactors(flat)) {
      const ConvShape combined = combineGroups(flat, factor);
      for (const ConvVertex& vertex : convVertices(chip, combined)) {
        ConvForm form = makeForm(combined, swapped, expanded, vertex, serial, factor);
        // The number of serial parts must divide the output channels, or the last part would have another
        // shape. Each part fills whole groups (C: PopLibs, ConvModel.cpp, constructModel).
        if (combined.outputChannels % serial != 0 || serial > form.shape.outputChannels / vertex.outGroup)
          continue;
        forms.push_back(form);
        form.arrangeEach = serial > 1 && (form.arrangeInput || form.arrangeWeights);
        if (form.arrangeEach) forms.push_back(form);
      }
    }
  }
}

/// True for a matrix times a vector, whose result lies in memory as that of the transposed product, vector
/// times matrix, does.
bool isVectorProduct(const ConvShape& shape) {
  return shape.matmul && !shape.trained && shape.pass == ProductPass::forward &&
         (shape.batch == 1) != (shape.outputChannels == 1);
}

/// All forms of a product. A product of matrices has one order (inPlannedOrder), and forms that turn its
/// operands pay for it, as in PopLibs (C).
std::vector<ConvForm> formsOf(const Chip& chip, const ConvShape& shape, std::int64_t serial) {
  std::vector<ConvForm> forms;
  addForms(chip, shape, shape.matmul, serial, forms);
  if (isVectorProduct(shape)) {
    addForms(chip, transposedProduct(shape), true, serial, forms);
  } else {
    addForms(chip, shape, !shape.matmul, serial, forms);
  }
  return forms;
}

std::string keyOf(const ConvShape& shape, std::int64_t memory) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}", memory, shape.matmul, shape.trained,
                                static_cast<int>(shape.pass), shape.groups, shape.batch, shape.inputChannels,
                                shape.outputChannels, shape.operandBytes(), shape.halfPartials);
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const ConvDim& d = shape.dims[i];
    key += fmt::format(" {},{},{},{},{},{},{}", d.input, d.kernel, d.output, d.stride, d.inputDilation,
                       d.kernelDilation, d.padding);
  }
  return key;
}

/// "convolution (forward) of float16, groups 1, batch 4, 64 to 128 channels, 56 to 28 by 3, …", for logs.
std::string textOf(const ConvShape& shape) {
  constexpr const char* kPasses[] = {"forward", "input gradient", "weight gradient"};
  std::string text = fmt::format("{} ({}) of {}, groups {}, batch {}, {} to {} channels",
                                 shape.matmul ? "matrix product" : "convolution",
                                 kPasses[static_cast<std::size_t>(shape.pass)],
                                 shape.quarter ? "float8"
                                 : shape.half  ? "float16"
                                               : "float32",
                                 shape.groups, shape.batch, shape.inputChannels, shape.outputChannels);
  for (std::size_t i = 0; i < shape.dimCount; ++i)
    text += fmt::format(", {} to {} by {}", shape.dims[i].input, shape.dims[i].output, shape.dims[i].kernel);
  return text;
}

bool sameButForParts(const ConvForm& a, const ConvForm& b) {
  return a.swapped == b.swapped && a.unpadded == b.unpadded && a.expanded == b.expanded &&
         a.combined == b.combined && a.vertex == b.vertex;
}

/// Skip a form if a split into a divisor of its serial parts was no faster: a product in more serial parts
/// never takes fewer cycles than the same split in a divisor of so many, each with more channels. So the
/// limit on memory must have kept out something faster with fewer parts.
bool cannotWin(const ConvForm& form, const std::vector<MissedSplit>& missed, std::int64_t cycles) {
  return std::any_of(missed.begin(), missed.end(), [&](const MissedSplit& earlier) {
    return earlier.cycles >= cycles && form.serial % earlier.form->serial == 0 &&
           sameButForParts(*earlier.form, form);
  });
}

}  // namespace

std::string ContractionPlan::describe() const {
  return fmt::format(
      "{} ({} in, {} out), {} tiles: groups {}, batch {}, field {}x{}x{}, kernel {}x{}x{}, in channels {}, "
      "out "
      "channels {}, {} serial part{}{}",
      vertexName(form.shape, form.vertex, usesOneByOne(form.shape, form.vertex, tile)), form.vertex.inGroup,
      form.vertex.outGroup, split.tiles(), split.groups, split.batch, split.output[0], split.output[1],
      split.output[2], split.kernel[0], split.kernel[1], split.kernel[2], split.inChannels, split.outChannels,
      form.serial, form.serial == 1 ? "" : "s",
      form.joint     ? ", one layout of the weights for all passes"
      : form.swapped ? ", operands swapped"
                     : "");
}

Planner::Share& Planner::share(std::int64_t tiles) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Share>& share = shares_[tiles];
  if (!share) share = std::make_shared<Share>(chip_, tiles);
  return *share;
}

std::int64_t Planner::memoryFor(double proportion) const {
  return static_cast<std::int64_t>(proportion * static_cast<double>(chip_.bytesPerTile));
}

std::shared_ptr<const ContractionPlan> Planner::plan(const ConvShape& given, double proportion) {
  const ConvShape shape = inPlannedOrder(given);
  const std::int64_t memory = memoryFor(proportion);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(keyOf(shape, memory)); found != plans_.end()) return found->second;
  }
  if (!shape.trained) return keep(shape, memory, planAlone(shape, memory));
  const std::array<ConvShape, 3> passes = passesOf(shape);
  const auto plans = planTrained(passes, memory);
  std::shared_ptr<const ContractionPlan> wanted;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    auto kept = keep(passes[i], memory, plans[i]);
    if (passes[i].pass == shape.pass) wanted = std::move(kept);
  }
  return wanted;
}

std::shared_ptr<ContractionPlan> Planner::planAlone(const ConvShape& shape, std::int64_t memory) {
  std::int64_t searched = 0;
  std::shared_ptr<ContractionPlan> plan = search(shape, memory, searched);
  // If nothing fits, PopLibs doubles the bound until twice the memory of a tile, and then drops it (C).
  for (; !plan && memory < 2 * chip_.bytesPerTile; plan = search(shape, memory, searched)) memory *= 2;
  if (!plan) plan = search(shape, std::numeric_limits<std::int64_t>::max(), searched);
  plan->searched = searched;
  return plan;
}

std::array<std::shared_ptr<ContractionPlan>, 3> Planner::planTrained(const std::array<ConvShape, 3>& passes,
                                                                     std::int64_t memory) {
  std::array<std::shared_ptr<ContractionPlan>, 3> plans;
  std::int64_t cycles = 0, temporary = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    plans[i] = planAlone(passes[i], memory);
    cycles += plans[i]->costs.total;
    temporary = std::max(temporary, plans[i]->costs.temporaryBytes);
  }
  if (temporary > memory) cycles = std::numeric_limits<std::int64_t>::max();
  if (std::optional<JointPlan> joint = planJointly(chip_, passes, memory, cycles)) {
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const std::int64_t searched = plans[i]->searched + joint->passes[i].searched;
      *plans[i] = std::move(joint->passes[i]);
      plans[i]->searched = searched;
    }
  }
  return plans;
}

std::shared_ptr<const ContractionPlan> Planner::keep(const ConvShape& shape, std::int64_t memory,
                                                     std::shared_ptr<ContractionPlan> plan) {
  base::log(base::LogLevel::debug,
            fmt::format("plan of a {}: {}; {} cycles, {} B of temporaries on a tile, {} splits looked at",
                        textOf(shape), plan->describe(), plan->costs.total, plan->costs.temporaryBytes,
                        plan->searched));
  const std::lock_guard lock(mutex_);
  return plans_.emplace(keyOf(shape, memory), std::move(plan)).first->second;
}

std::shared_ptr<ContractionPlan> Planner::search(const ConvShape& shape, std::int64_t memory,
                                                 std::int64_t& searched) {
  BestSplit best;
  std::vector<std::unique_ptr<FormsSearch>> searches;
  std::vector<MissedSplit> missed;
  for (const std::int64_t serial : kSerial) {
    std::vector<ConvForm> forms = formsOf(chip_, shape, serial);
    std::erase_if(forms, [&](const ConvForm& form) { return cannotWin(form, missed, best.cycles); });
    if (forms.empty()) continue;
    searches.push_back(std::make_unique<FormsSearch>(chip_, std::move(forms), memory, best, overheads_));
    const std::vector<MissedSplit> more = searches.back()->run();
    searched += searches.back()->searched();
    missed.insert(missed.end(), more.begin(), more.end());
    // If memory kept out nothing faster, no plan with more parts can win.
    if (std::all_of(missed.begin(), missed.end(),
                    [&](const MissedSplit& form) { return form.cycles >= best.cycles; }))
      break;
  }
  if (!best.form) return nullptr;
  auto plan = std::make_shared<ContractionPlan>();
  plan->form = *best.form;
  plan->split = best.split;
  plan->tile = largestTile(*best.form, best.split);
  WorkerCache cache;
  plan->costs = costsOf(chip_, *best.form, best.split, plan->tile, cache);
  return plan;
}

std::vector<ConvShare> sharesOf(const ContractionPlan& plan) {
  const ConvForm& form = plan.form;
  struct Parts {
    std::int64_t count, grains;
  };
  std::vector<ConvShare> shares{{1, ConvTile{}}};
  // The last parts of an axis are the larger ones (C: PopLibs, Convolution.cpp, getParallelSplitBegin).
  const auto cut = [&](std::int64_t grains, std::int64_t parts, const auto& field) {
    const std::int64_t more = grains % parts;
    std::vector<ConvShare> next;
    for (const ConvShare& share : shares) {
      for (const Parts part : {Parts{parts - more, grains / parts}, Parts{more, grains / parts + 1}}) {
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
  cut(form.inGrains, plan.split.inChannels, [](ConvTile& t) -> std::int64_t& { return t.inGroups; });
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    cut(form.shape.dims[i].kernel, plan.split.kernel[i],
        [i](ConvTile& t) -> std::int64_t& { return t.kernel[i]; });
  }
  cut(form.shape.batch, plan.split.batch, [](ConvTile& t) -> std::int64_t& { return t.batch; });
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    cut(ceilDiv(form.shape.dims[i].output, form.fieldGrain), plan.split.output[i],
        [i](ConvTile& t) -> std::int64_t& { return t.output[i]; });
    for (ConvShare& share : shares)
      share.tile.output[i] = std::min(form.shape.dims[i].output, share.tile.output[i] * form.fieldGrain);
  }
  cut(form.outGrains, plan.split.outChannels, [](ConvTile& t) -> std::int64_t& { return t.outGroups; });
  return shares;
}

ConvCosts costsOf(const Chip& chip, const ContractionPlan& plan, const ConvTile& tile) {
  WorkerCache cache;
  return costsOf(chip, plan.form, plan.split, tile, cache);
}

}  // namespace pipescope::devices::ipu
