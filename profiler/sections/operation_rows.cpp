#include "profiler/sections/operation_rows.h"

#include <cmath>
#include <map>

#include "profiler/analysis/model/flop_use.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/sections/reports.h"
#include "profiler/sections/words.h"

namespace pipescope::sections {
namespace {

using analysis::Operation;
using analysis::OperationCost;
using model::Pass;

constexpr std::pair<Pass, const char*> kOperationPasses[] = {{Pass::forward, "forward_cycles"},
                                                             {Pass::recompute, "recompute_cycles"},
                                                             {Pass::backward, "backward_cycles"},
                                                             {Pass::weightGradient, "weight_gradient_cycles"},
                                                             {Pass::update, "update_cycles"}};

struct RowsDefinition {
  OperationRows rows;
  const char *key, *title, *first;
};
constexpr RowsDefinition kOperationRowKinds[] = {
    {OperationRows::layers, "operations", "By layer of origin", "Layer"},
    {OperationRows::blocks, "blocks", "By block", "Block"},
    {OperationRows::kinds, "kinds", "By kind", "Kind"},
    {OperationRows::operators, "operators", "By operator", "Operator"},
    {OperationRows::programs, "programs", "By program", "Program"}};

std::string passTitle(const char* key) {
  std::string title(key, std::string_view(key).size() - std::string_view("_cycles").size());
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  for (char& c : title) c = c == '_' ? ' ' : c;
  return title;
}

Cell integerOf(std::int64_t value) {
  return Cell(value);
}

/// Decides whether to show a sum over all operations. Devices of tiles show it even if it is 0.
bool isShownSum(const Words& words, std::int64_t sum) {
  return words.tiles || sum != 0;
}

class OperationTable {
 public:
  OperationTable(const RowsDefinition& kind, const analysis::Operations& all, const Context& context,
                 bool steps, double peak)
      : kind_(kind),
        whole_(all.whole),
        words_(wordsOf(context.catalog)),
        ticksPerSecond_(static_cast<double>(context.catalog.timebase({}).ticksPerSecond)),
        hasSeconds_(context.catalog.target.tickMeaning != model::TickMeaning::cost),
        steps_(steps),
        peak_(peak) {
    if (const model::Executable* executable = context.catalog.executable(context.executable)) {
      microBatches_ = executable->microBatches;
      iterations_ = executable->kind == model::ExecutableKind::training ? executable->deviceIterations : 1;
    }
    for (const model::Stage* stage : context.catalog.stagesOf(context.executable)) {
      const model::Device* device = context.catalog.device(stage->device);
      if (device != nullptr) devices_[stage->index] = device->name;
    }
  }

  SectionTable make(const std::vector<Operation>& rows) const {
    SectionTable table{
        kind_.key, kind_.title, words_.basis("one replica; per micro-batch, updates per iteration"), {}, {}};
    addColumns(table);
    for (const Operation& row : rows) table.rows.push_back(cellsOf(row));
    return table;
  }

 private:
  bool single() const {
    return kind_.rows == OperationRows::operators || kind_.rows == OperationRows::programs;
  }

  void addColumns(SectionTable& table) const {
    const bool named = single() || kind_.rows == OperationRows::layers;
    table.columns = {{"name", kind_.first, Format::plain, ""},
                     {"kind", "Kind", Format::plain, "operator or program type", named},
                     {"block", "Block", Format::plain, "of the model", named},
                     {"stage", "Stage", Format::index, "", kind_.rows != OperationRows::kinds}};
    if (single()) {
      table.columns.push_back({"layer", "Layer", Format::plain, "layer that it comes from"});
      table.columns.push_back({"device", "Device", Format::plain, ""});
      table.columns.push_back({"pass", "Pass", Format::plain, ""});
    }
    table.columns.push_back({"cycles", words_.cycles(), Format::ticks, "all passes"});
    table.columns.push_back({"share", "Share", Format::fraction, "of the time of all operations"});
    for (const auto& [pass, name] : kOperationPasses)
      table.columns.push_back(
          {name, passTitle(name), Format::ticks, "", !single() && whole_.ticks.contains(pass)});
    table.columns.push_back({"call_cycles", std::string(words_.cycles()) + " per call", Format::ticks,
                             "all micro-batches and updates of one call", false});
    for (const SectionColumn& column :
         {SectionColumn{"compute_cycles", "Compute", Format::ticks, ""},
          SectionColumn{"exchange_cycles", words_.exchange, Format::ticks, "within the chip"},
          SectionColumn{"sync_cycles", "Sync", Format::ticks, "", isShownSum(words_, whole_.sync.count)},
          SectionColumn{"other_cycles", "Other", Format::ticks,
                        "copies from and to the host, and other steps", false},
          SectionColumn{"flops", "FLOP", Format::amount, "a multiply-add counts 2", whole_.flops > 0},
          SectionColumn{"flops_per_second", "FLOP/s", Format::amount, "FLOP ÷ time", false},
          SectionColumn{"peak_share", "Of peak", Format::fraction, "FLOP/s ÷ peak of the device", peak_ > 0},
          SectionColumn{"operand_bytes", "Operands", Format::bytes, "operands and results, all passes",
                        false},
          SectionColumn{"flop_per_byte", "FLOP per byte", Format::ratio,
                        "FLOP ÷ bytes of operands and results", false},
          SectionColumn{"exchanged_bytes", "Moved", Format::bytes,
                        "received by tiles from other tiles, all passes", false},
          SectionColumn{"tile_balance", "Tile balance", Format::fraction,
                        "mean ÷ slowest tile over the compute steps, weighted by time", false},
          SectionColumn{"programs", "Programs", Format::count, ""},
          SectionColumn{"code_bytes", "Code", Format::bytes, "with descriptors and vertex state",
                        isShownSum(words_, whole_.code.count)},
          SectionColumn{"always_live_bytes", "Tensors", Format::bytes,
                        "weights, optimizer state, accumulators, stashes"}})
      table.columns.push_back(column);
  }

  std::vector<Cell> cellsOf(const Operation& row) const {
    const OperationCost& cost = row.cost;
    const auto all = static_cast<double>(whole_.total().count);
    std::vector<Cell> cells{row.name, row.kind, row.block,
                            row.stage < 0 ? Cell() : Cell(std::int64_t{row.stage})};
    if (single()) {
      cells.push_back(row.layer);
      cells.push_back(deviceOf(row.stage));
      cells.push_back(row.pass ? Cell(model::toString(*row.pass)) : Cell());
    }
    cells.push_back(ifSteps(cost.total().count));
    cells.push_back(all > 0 ? Cell(static_cast<double>(cost.total().count) / all) : Cell());
    for (const auto& [pass, name] : kOperationPasses) {
      const auto found = cost.ticks.find(pass);
      cells.push_back(ifSteps(found == cost.ticks.end() ? 0 : found->second.count));
    }
    cells.push_back(callTicks(cost));
    for (const std::int64_t n : {cost.compute.count, cost.exchange.count, cost.sync.count, cost.other.count})
      cells.push_back(ifSteps(n));
    addRates(cost, cells);
    cells.push_back(ifSteps(cost.exchanged.count));
    const auto balance = cost.tileBalance();
    cells.push_back(balance && words_.tiles ? Cell(*balance) : Cell());
    cells.push_back(ifSteps(cost.programs));
    cells.push_back(integerOf(cost.code.count));
    cells.push_back(integerOf(cost.weights.count));
    return cells;
  }

  /// Figures of programs are unknown, because FLOP and operands belong to the whole operator.
  void addRates(const OperationCost& cost, std::vector<Cell>& cells) const {
    const bool known = kind_.rows != OperationRows::programs;
    const double seconds =
        steps_ && hasSeconds_ ? static_cast<double>(cost.total().count) / ticksPerSecond_ : 0;
    const bool rate = known && seconds > 0 && cost.flops > 0;
    const auto bytes = static_cast<double>(cost.operands.count);
    cells.push_back(known ? Cell(cost.flops) : Cell());
    cells.push_back(rate ? Cell(cost.flops / seconds) : Cell());
    cells.push_back(rate && peak_ > 0 ? Cell(cost.flops / seconds / peak_) : Cell());
    cells.push_back(known ? integerOf(cost.operands.count) : Cell());
    cells.push_back(known && bytes > 0 ? Cell(cost.flops / bytes) : Cell());
  }

  Cell deviceOf(std::int32_t stage) const {
    const auto found = devices_.find(stage);
    return found == devices_.end() ? Cell() : Cell(found->second);
  }

  /// Updates and collectives run once per iteration, everything else once per micro-batch.
  Cell callTicks(const OperationCost& cost) const {
    if (!steps_ || microBatches_ <= 0 || iterations_ <= 0) return {};
    double perIteration = 0;
    for (const auto& [pass, ticks] : cost.ticks) {
      const bool once = pass == Pass::update || pass == Pass::collective;
      perIteration += static_cast<double>(ticks.count) * (once ? 1.0 : static_cast<double>(microBatches_));
    }
    return Cell(std::round(perIteration * static_cast<double>(iterations_)));
  }

  Cell ifSteps(std::int64_t value) const { return steps_ ? Cell(value) : Cell(); }

  const RowsDefinition& kind_;
  const OperationCost& whole_;
  Words words_;
  double ticksPerSecond_;
  bool hasSeconds_, steps_;
  double peak_;
  std::int64_t microBatches_ = 0, iterations_ = 0;  ///< of an iteration, and of a call
  std::map<std::int32_t, std::string> devices_;     ///< name, by stage
};

}  // namespace

base::Result<std::vector<Ceiling>> ceilingsOf(const Context& context) {
  PIPESCOPE_ASSIGN(const analysis::FlopUse use,
                   analysis::flopUse(context.source, context.catalog, context.executable));
  std::vector<Ceiling> ceilings;
  if (use.peakPerDevice > 0) ceilings.push_back({"compute", "Arithmetic peak", use.peakPerDevice, true});
  constexpr std::pair<const char*, const char*> kMemories[] = {{"memory_bandwidth", "Memory of the tiles"},
                                                               {"exchange_bandwidth", "Exchange"},
                                                               {"sram_bandwidth", "SRAM"},
                                                               {"hbm_bandwidth", "HBM"}};
  for (const auto& [key, name] : kMemories) {
    const auto rate = analysis::figureValue(context.catalog.property(std::string("figure.") + key), "B/s");
    if (rate && *rate > 0) ceilings.push_back({key, name, *rate, false});
  }
  return ceilings;
}

namespace {

double peakOf(const std::vector<Ceiling>& ceilings) {
  return !ceilings.empty() && ceilings.front().compute ? ceilings.front().rate : 0;
}

const std::vector<Operation>& listOf(const analysis::Operations& all, OperationRows rows) {
  switch (rows) {
    case OperationRows::layers:
      return all.operations;
    case OperationRows::blocks:
      return all.blocks;
    case OperationRows::kinds:
      return all.kinds;
    case OperationRows::operators:
      return all.operators;
    case OperationRows::programs:
      break;
  }
  return all.programs;
}

SectionTable codeTable(const std::vector<Operation>& rows) {
  SectionTable table{"code", "Code", "with descriptors and vertex state; sum over tiles", {}, {}};
  table.columns = {{"name", "Name", Format::plain, "", false},
                   {"category", "Category", Format::plain, ""},
                   {"bytes", "Bytes", Format::bytes, ""},
                   {"share", "Share", Format::fraction, "of the code of the row"}};
  for (const Operation& row : rows) {
    for (const auto& [category, bytes] : row.cost.codeByCategory)
      table.rows.push_back({row.name, category, bytes.count,
                            row.cost.code.count > 0 ? Cell(static_cast<double>(bytes.count) /
                                                           static_cast<double>(row.cost.code.count))
                                                    : Cell()});
  }
  return table;
}

}  // namespace

base::Result<SectionTable> operationTable(const Context& context, OperationRows rows) {
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  PIPESCOPE_ASSIGN(const std::vector<Ceiling> ceilings, ceilingsOf(context));
  PIPESCOPE_ASSIGN(const auto all, operationsOf(context));
  return OperationTable(kOperationRowKinds[static_cast<std::size_t>(rows)], *all, context, recorded.steps,
                        peakOf(ceilings))
      .make(listOf(*all, rows));
}

namespace {

base::Result<OperationTables> tablesOf(const analysis::Operations& all, const Context& context) {
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  PIPESCOPE_ASSIGN(const std::vector<Ceiling> ceilings, ceilingsOf(context));
  OperationTables made;
  for (const RowsDefinition& kind : kOperationRowKinds) {
    const std::vector<Operation>& list = listOf(all, kind.rows);
    made.tables.push_back(OperationTable(kind, all, context, recorded.steps, peakOf(ceilings)).make(list));
    std::vector<model::DebugContextId>& contexts = made.contexts.emplace_back();
    std::vector<model::OperatorId>& operators = made.operators.emplace_back();
    for (const Operation& row : list) {
      contexts.push_back(row.context);
      operators.push_back(row.op);
    }
    made.code.push_back(codeTable(list));
  }
  return made;
}

}  // namespace

base::Result<OperationTables> operationTables(const Context& context) {
  PIPESCOPE_ASSIGN(const auto all, allOperationsOf(context));
  return tablesOf(*all, context);
}

base::Result<OperationTables> shortOperationTables(const Context& context) {
  PIPESCOPE_ASSIGN(const auto all, operationsOf(context));
  return tablesOf(*all, context);
}

}  // namespace pipescope::sections
