#include "profiler/sections/program_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/program_tree.h"
#include "profiler/base/short_names.h"
#include "profiler/base/wrapping.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

/// Units [from, until) that hold vertices, with the code on each of them.
struct VertexUnits {
  std::int64_t from = 0, until = 0, code = 0;
};

/// Sums over the vertices of one type that programs run. `data` and `code` are bytes.
struct VertexSum {
  std::int64_t count = 0, data = 0, units = 0, code = 0;
  std::set<std::int64_t> programs;
  std::map<std::int64_t, std::vector<VertexUnits>> ranges;  ///< keyed by memory space; they may overlap

  /// Finds how many units hold some. The code lies once on each of them.
  void countUnits() {
    for (auto& [space, list] : ranges) {
      std::ranges::stable_sort(list, {}, &VertexUnits::from);
      std::int64_t end = list.front().from;
      for (const VertexUnits& range : list) {
        const std::int64_t further = std::max<std::int64_t>(0, range.until - std::max(range.from, end));
        base::addWrapped(units, further);
        base::addWrapped(code, base::wrappedProduct(further, range.code));
        end = std::max(end, range.until);
      }
    }
  }
};

}  // namespace

std::string programText(const analysis::ProgramNode& node) {
  std::string text = node.kind;
  if (node.kind == "Repeat") text += " ×" + formatCell(node.count, Format::count);
  if (!node.name.empty()) text += " (" + node.name + ")";
  if (!node.targetName.empty()) text += " → " + node.targetName;
  return text;
}

namespace {

/// Number of programs below no other one that are still a list which can be read.
constexpr std::int64_t kMostLooseRoots = 1'000;
/// Number of programs from which those with others below them are shown first.
constexpr std::int64_t kManyPrograms = 10'000;

/// Puts programs that lie below no other one below the rows of their devices.
std::vector<analysis::ProgramNode> underDevices(std::vector<analysis::ProgramNode> nodes,
                                                std::vector<analysis::ProgramNode> devices) {
  std::map<model::DeviceId, std::vector<std::size_t>> rootsOf;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].depth == 0) rootsOf[nodes[i].device].push_back(i);
  }
  std::vector<analysis::ProgramNode> grouped;
  grouped.reserve(nodes.size() + devices.size());
  for (analysis::ProgramNode& device : devices) {
    const std::vector<std::size_t>& own = rootsOf[device.device];
    grouped.push_back(std::move(device));
    for (const std::size_t root : own) {
      for (std::size_t i = root; i < nodes.size() && (i == root || nodes[i].depth > 0); ++i) {
        grouped.push_back(std::move(nodes[i]));
        ++grouped.back().depth;
      }
    }
  }
  return grouped;
}

ProgramRows rowsOf(const std::vector<analysis::ProgramNode>& nodes, const Context& context) {
  const Words words = wordsOf(context.catalog);
  ProgramRows rows;
  rows.table = {"tree",
                "Program tree",
                "of one replica; " + words.cyclesOrTimes() + (words.bytes ? " and bytes moved" : "") +
                    " include every turn of a loop, but no waits",
                {},
                {}};
  rows.table.columns = {
      {"program", "Program", Format::plain, "type (debug name)"},
      {"id", "Id", Format::index, "number of the program in the profile"},
      {"type", "Type", Format::plain, ""},
      {"device_name", "Device", Format::plain, ""},
      {"cycles", words.cycles(), Format::ticks,
       "of a Function: one run of each of its calls, which count what runs within it; of a copy between "
       "devices: alone on the link"},
      {"code_bytes", "Code", Format::bytes,
       "code, descriptors and vertex state, sum over units; programs of one name share it"},
      {"exchanged_bytes", "Moved", Format::bytes, "received in exchanges, sum over units"},
      {"active_units", "Active units", Format::count, "units that have work in it", words.tiles},
      {"tile_balance", "Balance", Format::fraction, "mean ÷ slowest unit, of what computes", words.tiles},
      {"programs", "Programs", Format::count, "without children, at or below it"},
      {"callers", "Callers", Format::count, "Calls of a function"}};
  rows.table.rows.reserve(nodes.size());
  std::vector<std::string> names;
  std::map<model::DeviceId, std::size_t> nameOf;
  for (const model::Device& device : context.catalog.devices) {
    nameOf[device.id] = names.size();
    names.push_back(device.name);
  }
  names = base::shortNames(names);  // programs and their names need the room
  std::vector<int> path;            // the last row of each depth
  int functionDepth = -1;           // depth of the function around the present row
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
    if (node.depth <= functionDepth) functionDepth = -1;
    const bool isCounted = functionDepth < 0 || node.ticks.count > 0;  // not only at the calls
    if (functionDepth < 0 && node.kind == "Function") functionDepth = node.depth;
    const auto device = nameOf.find(node.device);
    // An initializer list would copy every text once more, and there may be very many programs.
    std::vector<Cell>& cells = rows.table.rows.emplace_back();
    cells.reserve(rows.table.columns.size());
    cells.emplace_back(programText(node));
    cells.push_back(node.id.valid() ? Cell(node.id.value) : Cell());
    cells.emplace_back(node.kind);
    cells.push_back(device != nameOf.end() ? Cell(names[device->second]) : Cell());
    cells.push_back(isCounted ? Cell(node.ticks.count) : Cell());
    for (const std::int64_t amount : {node.code.count, node.exchanged.count, node.activeUnits})
      cells.push_back(amount > 0 ? Cell(amount) : Cell());
    cells.push_back(node.tileBalance >= 0 ? Cell(node.tileBalance) : Cell());
    cells.emplace_back(node.programs);
    cells.push_back(node.kind == "Function" ? Cell(node.callers) : Cell());
  }
  return rows;
}

}  // namespace

base::Result<ProgramRows> programRows(const Context& context, const std::function<void(ProgramRows)>& begin) {
  using analysis::ProgramReader;
  PIPESCOPE_ASSIGN(const ProgramReader reader,
                   ProgramReader::read(context.source, context.catalog, context.executable));
  std::vector<analysis::ProgramNode> devices;
  if (reader.roots() > kMostLooseRoots) devices = reader.devices();
  if (devices.size() < 2) {
    if (begin && reader.size() > kManyPrograms) begin(rowsOf(reader.control(), context));
    return rowsOf(reader.tree(), context);
  }
  if (begin) begin(rowsOf(devices, context));
  return rowsOf(underDevices(reader.tree(), std::move(devices)), context);
}

std::vector<model::ProgramId> programsBelow(const ProgramRows& rows, int row) {
  const auto count = static_cast<int>(rows.parents.size());
  std::map<model::ProgramId, int> rowOf;
  for (int i = 0; i < count; ++i)
    if (rows.ids[static_cast<std::size_t>(i)].valid())
      rowOf.emplace(rows.ids[static_cast<std::size_t>(i)], i);
  std::vector<model::ProgramId> found;
  std::set<int> seen;
  std::vector<int> open = {row};
  while (!open.empty()) {
    const int top = open.back();
    open.pop_back();
    if (top < 0 || top >= count || !seen.insert(top).second) continue;
    // The rows below follow in the order of the tree.
    std::set<int> below = {top};
    for (int i = top; i < count && (i == top || below.contains(rows.parents[static_cast<std::size_t>(i)]));
         ++i) {
      below.insert(i);
      if (rows.ids[static_cast<std::size_t>(i)].valid())
        found.push_back(rows.ids[static_cast<std::size_t>(i)]);
      const model::ProgramId called = rows.targets[static_cast<std::size_t>(i)];
      const auto target = called.valid() ? rowOf.find(called) : rowOf.end();
      if (target != rowOf.end()) open.push_back(target->second);
    }
  }
  return found;
}

base::Result<SectionTable> programVertices(const Context& context,
                                           const std::vector<model::ProgramId>& programs) {
  const std::set<model::ProgramId> wanted(programs.begin(), programs.end());
  std::map<std::string, VertexSum> types;
  bool known = false;
  PIPESCOPE_TRY(analysis::forAllRows<model::VertexUse>(context.source, [&](const model::VertexUse& row) {
    if (row.executable != context.executable) return;
    known = true;
    if (!wanted.contains(row.program) || row.unitCount <= 0) return;
    VertexSum& sum = types[row.type];
    sum.programs.insert(row.program.value);
    base::addWrapped(sum.count, base::wrappedProduct(row.count, row.unitCount));
    base::addWrapped(sum.data,
                     base::wrappedProduct(base::wrappedSum(row.state.count, row.lists.count), row.unitCount));
    sum.ranges[row.space.value].push_back(
        {row.firstUnit, base::wrappedSum(row.firstUnit, row.unitCount), row.code.count});
  }));
  SectionTable table{
      "vertices",
      "Vertices",
      !known ? "this profile does not say which vertices its programs run"
      : types.empty()
          ? "these programs run no vertices"
          : "of the selected program, what is in it and what it calls; programs share the code of a type",
      {},
      {}};
  table.columns = {
      {"type", "Vertex type", Format::plain, "the codelet with its template arguments"},
      {"vertices", "Vertices", Format::count, "sum over units and compute sets"},
      {"compute_sets", "Compute sets", Format::count, "that run some of them"},
      {"units", "Units", Format::count, "that hold some of them"},
      {"code_bytes", "Code", Format::bytes, "once for each unit, shared by all compute sets"},
      {"data_bytes", "Data", Format::bytes, "state of the vertices, and the lists that they point to"}};
  for (auto& [type, sum] : types) {
    sum.countUnits();
    table.rows.push_back(
        {type, sum.count, static_cast<std::int64_t>(sum.programs.size()), sum.units, sum.code, sum.data});
  }
  const auto bytes = [](const std::vector<Cell>& row) {
    return base::wrappedSum(std::get<std::int64_t>(row[4]), std::get<std::int64_t>(row[5]));
  };
  std::ranges::stable_sort(table.rows, [&](const auto& a, const auto& b) { return bytes(a) > bytes(b); });
  return table;
}

}  // namespace pipescope::sections
