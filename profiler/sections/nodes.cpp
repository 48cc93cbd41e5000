#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pipeline/recorded/engine_nodes.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

base::Result<Section> makeNodes(const Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  PIPESCOPE_ASSIGN(const std::vector<analysis::EngineNode> nodes,
                   analysis::engineNodes(context.source, catalog));
  const Words words = wordsOf(catalog);
  // Times in the clock of the trace, so that they can be compared with other tools' tables.
  const double zero = base::numberOf(catalog.property("trace_zero_picoseconds")).value_or(0);
  const auto clock = [&](base::Ticks ticks) { return (zero + static_cast<double>(ticks.count)) * 1e-6; };
  Section section{"nodes", "Nodes", {}, {}, {}};
  section.facts = {{"nodes_count", "Nodes",
                    nodes.empty() ? Cell() : Cell(static_cast<std::int64_t>(nodes.size())), Format::count,
                    "Rows of the table: a node that runs several times counts for each."}};
  SectionTable table{"nodes", "Nodes", words.basis("all engines of one kind of a device"), {}, {}};
  table.columns = {{"name", "Node", Format::plain, ""},
                   {"part", "Part", Format::index, "a node that runs several times has several parts"},
                   {"operation", "Operation", Format::plain, ""},
                   {"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, "", catalog.devices.size() > 1},
                   {"unit", "Unit", Format::plain, "kind of engine"},
                   {"start_cycles", "Start", Format::ticks, "after the first event of the trace"},
                   {"duration_cycles", "Duration", Format::ticks, "from the first start to the last end"},
                   {"active_cycles", "Active", Format::ticks, "at least one engine works on it"},
                   {"activations", "Activations", Format::count, ""},
                   {"engines", "Engines", Format::count, "that work on it"},
                   {"shortest_cycles", "Shortest", Format::ticks, "activation"},
                   {"mean_cycles", "Mean", Format::ticks, "activation"},
                   {"longest_cycles", "Longest", Format::ticks, "activation"},
                   {"start_us", "Start, clock of the trace", Format::number, "", false},
                   {"end_us", "End, clock of the trace", Format::number, "", false},
                   {"duration_us", "Duration in µs", Format::number, "", false},
                   {"active_us", "Active in µs", Format::number, "", false}};
  for (const analysis::EngineNode& node : nodes) {
    const auto us = [](base::Ticks ticks) { return static_cast<double>(ticks.count) * 1e-6; };
    table.rows.push_back(
        {node.name, static_cast<std::int64_t>(node.part), node.operation, deviceIndexCell(node.device),
         deviceNameCell(catalog, node.device), catalog.laneTitle(node.unit), node.start.count,
         (node.end - node.start).count, node.active.count, node.activations, node.engines,
         node.shortest.count, static_cast<double>(node.sum.count) / static_cast<double>(node.activations),
         node.longest.count, clock(node.start), clock(node.end), us(node.end - node.start), us(node.active)});
  }
  table.mostInText = 30;
  section.tables.push_back(std::move(table));
  if (nodes.empty())
    lack(section,
         catalog.measured()
             ? "The trace names no matrix, vector, copy or network engines, so there are no nodes."
             : "Nodes are those of a recorded hardware trace; the report of the operations has those of "
               "an emulated run.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(nodes) {
  registry.add(
      {"nodes", "Nodes", "What each node of a recorded recipe took on its engines", 66, makeNodes, true});
}

}  // namespace pipescope::sections
