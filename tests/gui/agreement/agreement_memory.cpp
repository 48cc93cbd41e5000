#include <gtest/gtest.h>

#include <algorithm>

#include "agreement_figures.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "views/pages/parts/data/memory_data.h"

namespace pipescope::testing {

using base::Ticks;
using model::StepKind;
using nlohmann::json;

void expectMemoryAgrees(const Figures& of) {
  const json& memory = of["memory"];
  std::int64_t total = 0, categories = 0, always = 0, peaks = 0;
  for (const json& device : memory["devices"]) {
    total += device["total_bytes"].get<std::int64_t>();
    const json& spaces = of["system"]["memory_spaces"];
    const auto space = std::ranges::find_if(spaces, [&](const json& each) {
      return each["device"] == device["index"] && each["used_bytes"] == device["total_bytes"];
    });
    EXPECT_NE(space, spaces.end()) << device["name"];
    if (space != spaces.end()) {
      EXPECT_EQ((*space)["fullest_bytes"], device["max_tile_bytes"]);
      EXPECT_EQ((*space)["largest_span_bytes"], device["max_tile_bytes_including_gaps"]);
    }
    EXPECT_LE(device["total_bytes"], device["total_bytes_including_gaps"]);
    for (const json& stage : of["stages"]["memory"]) {
      const json& row = of["stages"]["stages"][stage["index"].get<std::size_t>()];
      if (row["device"] != device["index"]) continue;
      EXPECT_EQ(stage["worst_tile_bytes"], device["max_tile_bytes"]);
      EXPECT_EQ(stage["worst_tile"], device["worst_tile"]);
      EXPECT_EQ(stage["largest_span_bytes"], device["max_tile_bytes_including_gaps"]);
      EXPECT_EQ(stage["always_live_bytes"], device["always_live_bytes"]);
    }
  }
  if (memory["devices"].empty()) {
    EXPECT_TRUE(memory["total_bytes"].is_null());
    return;
  }
  for (const auto& [name, bytes] : memory["by_category"].items()) categories += bytes.get<std::int64_t>();
  for (const json& row : of["liveness"]["devices"]) {
    always += row["always_live_bytes"].get<std::int64_t>();
    peaks += row["peak_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(memory["total_bytes"].get<std::int64_t>(), total);
  EXPECT_EQ(categories, total);
  EXPECT_EQ(memory["always_live_bytes"].get<std::int64_t>(), always);
  EXPECT_EQ(memory["not_always_live_peak_bytes"].get<std::int64_t>(), peaks);
  base::SilentProgress progress;
  const auto page = pages::collectMemory(of.context(), {}, progress);
  ASSERT_TRUE(page.ok()) << page.error().message;
  if (!page->spans.empty()) {
    // The page names the same largest span as the summary, on whichever tile it is.
    const auto fullest = static_cast<std::size_t>(std::ranges::max_element(page->used) - page->used.begin());
    const std::int64_t largest = of["memory"]["max_tile_bytes_including_gaps"].get<std::int64_t>();
    const QString words = pages::unitWords(*page, fullest) + pages::largestSpanWords(*page, fullest),
                  span = QStringLiteral("address span ") +
                         QString::fromStdString(sections::formatCell(largest, sections::Format::bytes));
    EXPECT_TRUE(words.contains(span)) << words.toStdString() << " lacks " << span.toStdString();
  }
  std::int64_t drawn = 0;
  for (const pages::MemoryLayer& layer : page->layers) {
    for (const std::int64_t bytes : layer.values) drawn += bytes;
  }
  EXPECT_EQ(drawn, total);
  EXPECT_EQ(*std::ranges::max_element(page->used), memory["max_tile_bytes"].get<std::int64_t>());
  EXPECT_EQ(*std::ranges::max_element(page->spans),
            memory["max_tile_bytes_including_gaps"].get<std::int64_t>());
}

/// The addresses of single variables add up to the figures of their unit, and so do its vertices.
void expectAddressesAgree(const Figures& of) {
  base::SilentProgress progress;
  const analysis::Memory& memory = of.memory();
  for (std::size_t d = 0; d < std::min<std::size_t>(2, memory.devices.size()); ++d) {
    const analysis::DeviceMemory& device = memory.devices[d];
    const sections::Context& context = of.context();
    const analysis::UnitUse use =
        analysis::unitUse(context.source, of.catalog(), context.executable, device.space).value();
    const auto byCategory =
        analysis::unitUseByCategory(context.source, of.catalog(), context.executable, device.space).value();
    for (const std::int64_t unit : {device.worstUnit, device.spanUnit, device.units / 3, device.units - 1}) {
      SCOPED_TRACE(device.name + ", unit " + std::to_string(unit));
      const auto at = static_cast<std::size_t>(unit);
      const analysis::UnitLayout layout =
          analysis::unitLayout(context.source, of.catalog(), context.executable, device.space, unit).value();
      ASSERT_TRUE(layout.known);
      EXPECT_EQ(layout.end, use.includingGaps[at]);
      EXPECT_EQ(layout.used.count, use.excludingGaps[at]);
      std::int64_t code = 0, state = 0, lists = 0;
      const auto vertices = analysis::unitVertices(context.source, of.catalog(), context.executable,
                                                   device.space, {unit}, progress);
      for (const analysis::VertexType& type : vertices.value().types) {
        code += type.code.count;
        state += type.state.count;
        lists += type.lists.count;
      }
      const auto held = [&](const char* category) {
        const auto found = byCategory.find(category);
        return found == byCategory.end() ? 0 : found->second[at];
      };
      EXPECT_EQ(code, held("vertexCode"));
      EXPECT_EQ(state, held("vertexInstanceState"));
      EXPECT_EQ(lists, held("vertexFieldData"));
    }
  }
}

}  // namespace pipescope::testing
