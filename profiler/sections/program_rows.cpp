#include "profiler/sections/program_rows.h"

#include "profiler/analysis/model/program_tree.h"
#include "profiler/sections/words.h"

namespace pipescope::sections {

std::string programText(const analysis::ProgramNode& node) {
  std::string text = node.kind;
  if (node.kind == "Repeat") text += " ×" + formatCell(node.count, Format::count);
  if (!node.name.empty()) text += " (" + node.name + ")";
  if (!node.targetName.empty()) text += " → " + node.targetName;
  return text;
}

base::Result<ProgramRows> programRows(const Context& context) {
  PIPESCOPE_ASSIGN(const auto nodes,
                   analysis::programTree(context.source, context.catalog, context.executable));
  const Words words = wordsOf(context.catalog);
  ProgramRows rows;
  rows.table = {"tree",
                "Program tree",
                std::string("of one replica; ") + words.time.unit +
                    " and bytes moved include every turn of a loop; programs of one name share their code",
                {},
                {}};
  rows.table.columns = {
      {"program", "Program", Format::plain, "type (debug name)"},
      {"id", "Id", Format::index, "number of the program in the profile"},
      {"type", "Type", Format::plain, ""},
      {"device_name", "Device", Format::plain, ""},
      {"cycles", words.cycles(), Format::ticks, "of a Function: one run of each of its calls"},
      {"code_bytes", "Code", Format::bytes, "code, descriptors and vertex state, sum over units"},
      {"exchanged_bytes", "Moved", Format::bytes, "received in exchanges, sum over units"},
      {"active_units", "Active units", Format::count, "units that have work in it"},
      {"tile_balance", "Balance", Format::fraction, "mean ÷ slowest unit, of what computes"},
      {"programs", "Programs", Format::count, "without children, at or below it"},
      {"callers", "Callers", Format::count, "Calls of a function"}};
  std::vector<int> path;  // the last row of each depth
  for (const analysis::ProgramNode& node : nodes) {
    const auto depth = static_cast<std::size_t>(node.depth);
    path.resize(depth + 1, -1);
    rows.parents.push_back(depth == 0 ? -1 : path[depth - 1]);
    path[depth] = static_cast<int>(rows.table.rows.size());
    rows.ids.push_back(node.id);
    rows.targets.push_back(node.target);
    rows.devices.push_back(node.device);
    rows.contexts.push_back(node.context);
    rows.steps.push_back(node.step);
    const model::Device* device = context.catalog.device(node.device);
    const auto unlessNone = [](std::int64_t n) { return n > 0 ? Cell(n) : Cell(); };
    rows.table.rows.push_back(
        {programText(node), node.id.value, node.kind, device ? Cell(device->name) : Cell(), node.ticks.count,
         unlessNone(node.code.count), unlessNone(node.exchanged.count), unlessNone(node.activeUnits),
         node.tileBalance >= 0 ? Cell(node.tileBalance) : Cell(), node.programs,
         node.kind == "Function" ? Cell(node.callers) : Cell()});
  }
  return rows;
}

}  // namespace pipescope::sections
