#include <algorithm>

#include "profiler/analysis/model/program_tree.h"
#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

Table passTable(const std::vector<model::CompilerPass>& passes) {
  Table table{"passes",
              "Compiler passes",
              "one replica; storage of all results, of which few live at a time; cycles per micro-batch, sum "
              "over devices",
              {},
              {}};
  table.columns = {{"name", "Pass", Format::plain, "compile.<name> switches it off"},
                   {"enabled", "On", Format::plain, ""},
                   {"changes", "Changes", Format::count, "what is counted: see the summary"},
                   {"saved_bytes", "Saves", Format::bytes, "storage; negative where it takes some"},
                   {"saved_cycles", "Saves cycles", Format::ticks, "negative where it takes some"},
                   {"summary", "What", Format::plain, ""}};
  for (const model::CompilerPass& row : passes)
    table.rows.push_back({row.name, row.enabled, row.changes, row.bytes.count, row.ticks, row.summary});
  return table;
}

std::string textOf(const analysis::ProgramNode& node) {
  std::string text(static_cast<std::size_t>(node.depth) * 2, ' ');
  text += node.kind;
  if (node.kind == "Repeat") text += " ×" + formatCell(node.count, Format::count);
  if (!node.name.empty()) text += " (" + node.name + ")";
  if (!node.targetName.empty()) text += " → " + node.targetName;
  return text;
}

Table treeTable(const std::vector<analysis::ProgramNode>& nodes, const analysis::Catalog& catalog) {
  Table table{"tree", "Program tree", "of one replica; cycles with the loops counted", {}, {}};
  table.columns = {
      {"device", "Device", Format::plain, ""},
      {"program", "Program", Format::plain, "type (debug name); those that only do something are counted"},
      {"type", "Type", Format::plain, "", false},
      {"name", "Name", Format::plain, "", false},
      {"depth", "Depth", Format::plain, "0: called by the host, or a function", false},
      {"count", "Count", Format::count, "how often a Repeat runs what is in it", false},
      {"target", "Target", Format::plain, "function of a Call", false},
      {"callers", "Callers", Format::count, "Calls of a function", false},
      {"programs", "Programs", Format::count, "OnTileExecute, DoExchange … below it"},
      {"cycles", "Cycles", Format::ticks, "of a Function: of its calls, one run of each"}};
  for (const analysis::ProgramNode& node : nodes) {
    const model::Device* device = catalog.device(node.device);
    table.rows.push_back({device ? Cell(device->name) : Cell(), textOf(node), node.kind, node.name,
                          static_cast<std::int64_t>(node.depth), node.count, node.targetName, node.callers,
                          node.programs, node.ticks.count});
  }
  return table;
}

base::Result<Section> makePrograms(const Context& context) {
  PIPESCOPE_ASSIGN(const auto passes, analysis::compilerPasses(context.source, context.executable));
  PIPESCOPE_ASSIGN(const auto nodes,
                   analysis::controlPrograms(context.source, context.catalog, context.executable));
  std::int64_t programs = 0, functions = 0, calls = 0;
  for (const analysis::ProgramNode& node : nodes) {
    if (node.depth == 0 && node.kind != "Function") programs += node.programs;
    functions += node.kind == "Function" ? 1 : 0;
    calls += node.kind == "Call" ? 1 : 0;
  }
  Section section{"programs", "Programs", {}, {}, {}};
  section.facts = {
      {"programs", "Programs", programs, Format::count,
       "That do something, sum over devices; loops counted once."},
      {"functions", "Functions", functions, Format::count, "Whose code several calls share."},
      {"calls", "Calls", calls, Format::count, "Of these functions."},
  };
  if (!passes.empty()) section.tables.push_back(passTable(passes));
  section.tables.push_back(treeTable(nodes, context.catalog));
  section.tables.back().mostInText = 80;
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(programs) {
  registry.add({"programs", "Programs",
                "What the compiler's passes changed; the program tree with loops and calls", 62,
                makePrograms});
}

}  // namespace pipescope::sections
