// Independent products side by side, on shares of the tiles.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {
namespace {

/// The order of a product's steps, which is the same for all products.
int rankOf(const std::string& name) {
  static const char* const order[] = {"PreArrange/Exchange", "PreArrange/OnTileCopy", "PreArrange/Place",
                                      "DynamicSlice",        "PreConvolve/Exchange",  "Convolve"};
  for (int i = 0; i < 6; ++i) {
    if (name == order[i]) return i;
  }
  // The stages of a reduction alternate between exchange and sum.
  if (name.starts_with("Reduce")) return 6;
  if (name == "Cast") return 7;
  return name.ends_with("Exchange") ? 8 : 9;
}

/// The steps of one product, and their places among the steps of all.
struct Part {
  std::int64_t firstTile = 0;
  LoweredWork work;
  std::size_t next = 0;
  std::vector<std::size_t> places;
};

/// A temporary of one product lives from the first to the last of its own steps, counted among the steps of
/// all.
void takeTemporaries(const Part& part, std::int64_t tiles, std::size_t number, LoweredWork& merged) {
  for (const Temporary& temporary : part.work.temporaries) {
    if (temporary.first >= part.places.size()) continue;
    Temporary moved = temporary;
    moved.name = "Product" + std::to_string(number) + "/" + temporary.name;
    moved.bytes = rotated(temporary.bytes, part.firstTile, tiles);
    moved.first = part.places[temporary.first];
    moved.end = part.places[temporary.end - 1] + 1;
    merged.temporaries.push_back(std::move(moved));
  }
}

void takeStep(const Chip& chip, Part& part, ProgramStep& step) {
  ProgramStep& own = part.work.steps[part.next++];
  TileRuns cycles = rotated(own.cycles, part.firstTile, chip.tiles);
  step.cycles.insert(step.cycles.end(), cycles.begin(), cycles.end());
  step.kind = own.kind;
  step.once = own.once;
  step.program = own.program;
  step.name = own.name;
  step.sync = std::max(step.sync, own.sync);
  step.bytesIn += own.bytesIn;
  step.bytesOut += own.bytesOut;
  step.messages = std::max(step.messages, own.messages);
  for (const LoweredVertex& use : own.vertices) {
    const auto same = std::find_if(step.vertices.begin(), step.vertices.end(),
                                   [&](const LoweredVertex& other) { return other.type == use.type; });
    if (same == step.vertices.end()) {
      step.vertices.push_back(use);
    } else {
      same->fieldBytes = std::max(same->fieldBytes, use.fieldBytes);
    }
  }
}

LoweredWork merge(const Chip& chip, std::vector<Part>& parts) {
  LoweredWork merged;
  for (;;) {
    int least = INT32_MAX;
    for (const Part& part : parts) {
      if (part.next < part.work.steps.size())
        least = std::min(least, rankOf(part.work.steps[part.next].name));
    }
    if (least == INT32_MAX) break;
    // The exchanges of a reduction's stages go together, and so do the sums.
    const auto kindOf = [](const Part& part) { return part.work.steps[part.next].kind; };
    const auto takes = [&](const Part& part) {
      return part.next < part.work.steps.size() && rankOf(part.work.steps[part.next].name) == least;
    };
    const Part& first = *std::find_if(parts.begin(), parts.end(), takes);
    const model::StepKind kind = kindOf(first);
    ProgramStep step;
    for (Part& part : parts) {
      if (!takes(part) || kindOf(part) != kind) continue;
      part.places.push_back(merged.steps.size());
      takeStep(chip, part, step);
    }
    merged.steps.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) takeTemporaries(parts[i], chip.tiles, i, merged);
  return merged;
}

}  // namespace

base::Result<LoweredWork> lowerSideBySide(const std::vector<ops::Contraction>& products,
                                          const IpuLoweringContext& context) {
  const Chip& chip = context.chip;
  double whole = 0;
  for (const ops::Contraction& product : products) whole += static_cast<double>(product.multiplyAdds());
  std::vector<Part> parts;
  std::int64_t firstTile = 0;
  const auto count = static_cast<std::int64_t>(products.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const ops::Contraction& product = products[static_cast<std::size_t>(i)];
    const std::int64_t left = chip.tiles - firstTile, others = count - i - 1;
    const auto wanted = static_cast<std::int64_t>(static_cast<double>(chip.tiles) *
                                                  static_cast<double>(product.multiplyAdds()) / whole);
    // Pairs of tiles share an exchange bus.
    const std::int64_t tiles =
        others == 0 ? left : std::clamp<std::int64_t>(wanted / 2 * 2, 1, left - others);
    Planner::Share& share = context.planner.share(tiles);
    const IpuLoweringContext own{.chip = share.chip,
                                 .planner = share.planner,
                                 .memoryProportion = context.memoryProportion,
                                 .hostBytesPerSecond = context.hostBytesPerSecond,
                                 .what = context.what,
                                 .halfPartials = context.halfPartials,
                                 .jointPlans = context.jointPlans,
                                 .operands = context.operands};
    PIPESCOPE_ASSIGN(LoweredWork work, lower(product, own));
    parts.push_back({firstTile, std::move(work), 0, {}});
    firstTile += tiles;
  }
  return merge(chip, parts);
}

}  // namespace pipescope::devices::ipu
