#include "engine/devices/ipu/memory/overflow_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "profiler/base/byte_text.h"
#include "profiler/base/number_text.h"

namespace pipescope::devices::ipu {
namespace {

/// Kinds of variables for somebody who wants to save memory.
enum Kind : std::size_t {
  weights,
  optimizer,
  stash,
  caches,
  activations,
  gradients,
  temporaries,
  buffers,
  code,
  kinds
};
constexpr std::array<const char*, kinds> kGroups{"weights and accumulated gradients",
                                                 "optimizer state",
                                                 "stash of the pipeline",
                                                 "caches",
                                                 "activations and inputs",
                                                 "gradients",
                                                 "temporaries of products",
                                                 "buffers for input and output",
                                                 "code and exchange"};

Kind kindOf(const TileContent& variable) {
  const std::string& category = variable.category;
  if (category == "cache") return caches;
  if (category == "gathered_weight" || category == "weight" || category == "accumulator" ||
      category == "constant")
    return weights;
  if (category == "optimizer_state") return optimizer;
  if (category == "stash") return stash;
  if (category == "input" || category == "activation") return activations;
  if (category == "gradient") return gradients;
  if (category == "stream_buffer") return buffers;
  return category == "temporary" ? temporaries : code;
}

/// "0–1423, 1440", and how many further runs there are if there are many.
std::string tilesText(const std::vector<TileRun>& runs) {
  constexpr std::size_t most = 4;
  std::string text;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i >= most) {
      rest += runs[i].count;
      continue;
    }
    const std::int64_t last = runs[i].first + runs[i].count - 1;
    text += i == 0 ? "" : ", ";
    text += last == runs[i].first ? fmt::format("{}", last) : fmt::format("{}–{}", runs[i].first, last);
  }
  return rest == 0 ? text : text + fmt::format(" and {} more", rest);
}

/// The groups with their bytes, largest first.
std::vector<std::pair<std::int64_t, Kind>> overflowTextGroupsOf(const std::vector<TileContent>& live) {
  std::array<std::int64_t, kinds> bytes{};
  for (const TileContent& variable : live) bytes[kindOf(variable)] += variable.bytes;
  std::vector<std::pair<std::int64_t, Kind>> groups;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (bytes[kind] > 0) groups.emplace_back(bytes[kind], static_cast<Kind>(kind));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return groups;
}

}  // namespace

std::string overflowText(const Chip& chip, const std::string& deviceName, const TileLayout& layout,
                         const std::string& fullest, const std::vector<TileContent>& live) {
  const std::int64_t tooMuch = layout.worstBytes - chip.bytesPerTile;
  const auto groups = overflowTextGroupsOf(live);
  std::string held, largest;
  for (const auto& [bytes, kind] : groups)
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", kGroups[kind], base::byteText(bytes));
  for (std::size_t i = 0; i < std::min<std::size_t>(3, live.size()); ++i)
    largest += fmt::format("{}{} ({}) {}", i == 0 ? "" : ", ", live[i].name, live[i].category,
                           base::byteText(live[i].bytes));
  return fmt::format(
      "{}: {} of {} tiles need more than their {}, {} too much in all: tile{} {}. The most needs tile {}: "
      "{}, {} too "
      "much, at {}. It holds {}. Largest there: {}.",
      deviceName, base::groupedText(layout.overflowingTiles), base::groupedText(chip.tiles),
      base::byteText(chip.bytesPerTile), base::byteText(layout.overflowBytes),
      layout.overflowingTiles == 1 ? "" : "s", tilesText(layout.overflowing), layout.worstTile,
      base::byteText(layout.worstBytes), base::byteText(tooMuch), fullest.empty() ? "all times" : fullest,
      held, largest);
}

}  // namespace pipescope::devices::ipu
