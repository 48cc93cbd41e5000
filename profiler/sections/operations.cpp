#include "profiler/analysis/model/operations.h"

#include "profiler/sections/reports.h"
#include "profiler/sections/words.h"

namespace pipescope::sections {
namespace {

using analysis::Operation;
using model::Pass;

Cell operationsTicksOf(const Operation& row, Pass pass, bool steps) {
  if (!steps) return {};
  const auto found = row.cost.ticks.find(pass);
  return found == row.cost.ticks.end() ? Cell(std::int64_t{0}) : Cell(found->second.count);
}

constexpr std::pair<Pass, const char*> kPasses[] = {{Pass::forward, "forward_cycles"},
                                                    {Pass::recompute, "recompute_cycles"},
                                                    {Pass::backward, "backward_cycles"},
                                                    {Pass::weightGradient, "weight_gradient_cycles"},
                                                    {Pass::update, "update_cycles"}};

std::string titleOf(const char* key) {
  std::string title(key, std::string_view(key).size() - std::string_view("_cycles").size());
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  for (char& c : title) c = c == '_' ? ' ' : c;
  return title;
}

/// Decides whether to show a sum over all operations. Devices of tiles show it even if it is 0.
bool isShown(const Words& words, std::int64_t sum) {
  return words.tiles || sum != 0;
}

/// Text omits the columns of passes that take no time.
Table operationsTable(const char* key, const char* title, const char* first,
                      const std::vector<Operation>& rows, const analysis::OperationCost& whole,
                      const Words& words, bool steps) {
  Table table{key, title, words.basis("one replica; per micro-batch, updates per iteration"), {}, {}};
  const bool operations = std::string_view(key) == "operations";
  table.columns = {{"name", first, Format::plain, ""},
                   {"kind", "Kind", Format::plain, "operator type", operations},
                   {"block", "Block", Format::plain, "of the model", operations},
                   {"stage", "Stage", Format::index, "", std::string_view(key) != "kinds"},
                   {"cycles", words.cycles(), Format::ticks, "all passes"},
                   {"share", "Share", Format::fraction, "of the time of all operations"}};
  for (const auto& [pass, name] : kPasses)
    table.columns.push_back({name, titleOf(name), Format::ticks, "", whole.ticks.contains(pass)});
  for (const Column& column :
       {Column{"compute_cycles", "Compute", Format::ticks, ""},
        Column{"exchange_cycles", words.exchange, Format::ticks, "within the chip"},
        Column{"sync_cycles", "Sync", Format::ticks, "", isShown(words, whole.sync.count)},
        Column{"other_cycles", "Other", Format::ticks, "copies from and to the host, and other steps", false},
        Column{"flops", "FLOP", Format::number, "a multiply-add counts 2", false},
        Column{"programs", "Programs", Format::count, ""},
        Column{"code_bytes", "Code", Format::bytes, "with descriptors and vertex state",
               isShown(words, whole.code.count)},
        Column{"always_live_bytes", "Tensors", Format::bytes,
               "weights, optimizer state, accumulators, stashes"}})
    table.columns.push_back(column);
  const auto all = static_cast<double>(whole.total().count);
  for (const Operation& row : rows) {
    std::vector<Cell> cells{row.name,
                            row.kind,
                            row.block,
                            row.stage < 0 ? Cell() : Cell(std::int64_t{row.stage}),
                            steps ? Cell(row.cost.total().count) : Cell(),
                            all > 0 ? Cell(static_cast<double>(row.cost.total().count) / all) : Cell()};
    for (const auto& [pass, name] : kPasses) cells.push_back(operationsTicksOf(row, pass, steps));
    for (const std::int64_t n :
         {row.cost.compute.count, row.cost.exchange.count, row.cost.sync.count, row.cost.other.count})
      cells.push_back(steps ? Cell(n) : Cell());
    cells.emplace_back(row.cost.flops);
    cells.push_back(steps ? Cell(row.cost.programs) : Cell());
    for (const std::int64_t n : {row.cost.code.count, row.cost.weights.count}) cells.emplace_back(n);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

base::Result<Section> makeOperations(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, operationsOf(context));
  const analysis::Operations& all = *made;
  Section section{"operations", "Operations", {}, {}, {}};
  const Words words = wordsOf(context.catalog);
  const bool any = !all.operations.empty();
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  section.facts = {
      {"layers_of_origin", "Layers of origin", static_cast<std::int64_t>(all.operations.size()),
       Format::count, "Forward operators; each counts its gradients, accumulators and updates as its own."},
      {"cycles", words.timed(words.cycles()), any && recorded.steps ? Cell(all.whole.total().count) : Cell(),
       Format::ticks, "Of all operations, one replica, per micro-batch."},
      {"flops", "FLOP", all.whole.flops > 0 ? Cell(all.whole.flops) : Cell(), Format::number,
       "Of all operations, one replica, per micro-batch; a multiply-add counts 2."},
  };
  if (!any) lack(section, "This profile records no operations.");
  if (any && !recorded.steps) lack(section, kNoSteps);
  constexpr std::size_t kMostInText = 20;
  section.tables.push_back(
      operationsTable("blocks", "By block", "Block", all.blocks, all.whole, words, recorded.steps));
  section.tables.push_back(
      operationsTable("kinds", "By kind", "Kind", all.kinds, all.whole, words, recorded.steps));
  section.tables.push_back(operationsTable("operations", "By layer of origin", "Layer", all.operations,
                                           all.whole, words, recorded.steps));
  section.tables.back().mostInText = kMostInText;
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(operations) {
  registry.add({"operations", "Operations",
                "Time, code and memory by layer of the model, block and operator type", 64, makeOperations});
}

}  // namespace pipescope::sections
