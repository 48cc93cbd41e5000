#include <algorithm>

#include "profiler/analysis/model/program_tree.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/program_rows.h"

namespace pipescope::sections {
namespace {

SectionTable passTable(const std::vector<model::CompilerPass>& passes, const Words& words) {
  SectionTable table{"passes",
                     "Compiler passes",
                     "one replica, sum over devices; bytes of all results, even if few live at a time; " +
                         words.per("micro-batch"),
                     {},
                     {}};
  table.columns = {{"name", "Pass", Format::plain, "compile.<name> switches it off"},
                   {"enabled", "On", Format::truth, ""},
                   {"changes", "Changes", Format::count, "the last column says what is counted"},
                   {"saved_bytes", "Saves", Format::bytes, "storage; below 0: the pass needs more"},
                   {"saved_cycles", words.time.isCycles() ? "Saves cycles" : "Saves time", Format::ticks,
                    "below 0: the pass costs time"},
                   {"summary", "What", Format::plain, ""}};
  for (const model::CompilerPass& row : passes)
    table.rows.push_back({row.name, row.enabled, row.changes, row.bytes.count, row.ticks, row.summary});
  return table;
}

std::string indentedText(const analysis::ProgramNode& node) {
  std::string text(static_cast<std::size_t>(node.depth) * 2, ' ');
  return text + programText(node);
}

SectionTable treeTable(const std::vector<analysis::ProgramNode>& nodes, const analysis::Catalog& catalog) {
  const Words words = wordsOf(catalog);
  SectionTable table{
      "tree",
      "Program tree",
      "of one replica; " + words.cyclesOrTimes() + " include every turn of a loop, but no waits",
      {},
      {}};
  table.columns = {
      {"device", "Index", Format::index, "Device index", false},
      {"device_name", "Device", Format::plain, ""},
      {"program", "Program", Format::plain, "type (debug name); programs without children are only counted"},
      {"type", "Type", Format::plain, "", false},
      {"name", "Name", Format::plain, "", false},
      {"depth", "Depth", Format::index, "0: called by the host, or a function", false},
      {"count", "Count", Format::count, "how often a Repeat runs what is in it", false},
      {"target", "Target", Format::plain, "function of a Call", false},
      {"callers", "Callers", Format::count, "Calls of a function", false},
      {"programs", "Programs", Format::count, "OnTileExecute, DoExchange … below it"},
      {"cycles", words.cycles(), Format::ticks,
       "of a Function: one run of each of its calls; of a copy between devices: alone on the link"}};
  for (const analysis::ProgramNode& node : nodes) {
    const model::Device* device = catalog.device(node.device);
    table.rows.push_back({deviceIndexCell(node.device), device ? Cell(device->name) : Cell(),
                          indentedText(node), node.kind, node.name, static_cast<std::int64_t>(node.depth),
                          node.count, node.targetName, node.callers, node.programs, node.ticks.count});
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
  const auto counted = [&](std::int64_t count) { return context.catalog.measured() ? Cell() : Cell(count); };
  section.facts = {
      {"programs", "Programs", counted(programs), Format::count,
       "Programs without children, sum over devices; loops count once."},
      {"functions", "Functions", counted(functions), Format::count,
       "Functions whose code several calls share."},
      {"calls", "Calls", counted(calls), Format::count, "Calls of these functions."},
  };
  section.tables.push_back(passTable(passes, wordsOf(context.catalog)));
  section.tables.push_back(treeTable(nodes, context.catalog));
  section.tables.back().mostInText = 80;
  if (context.catalog.measured())
    section.remarks.push_back(
        "A trace of another tool holds no programs of a compiler: the tree names its events.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(programs) {
  registry.add({"programs", "Programs",
                "What the compiler's passes changed, and the program tree with its loops and calls", 62,
                makePrograms});
}

}  // namespace pipescope::sections
