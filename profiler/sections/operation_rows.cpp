#include "profiler/sections/operation_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/model/flop_use.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/analysis/model/operator_peaks.h"
#include "profiler/base/wrapping.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

using analysis::Operation;
using analysis::OperationCost;
using model::Pass;

/// A column, and the passes that it adds up. All columns together are the time of a row.
struct PassColumn {
  const char *key, *title, *doc;
  std::vector<Pass> passes;

  bool in(const OperationCost& cost) const {
    return std::ranges::any_of(passes, [&](Pass pass) { return cost.ticks.contains(pass); });
  }
  std::int64_t of(const OperationCost& cost) const {
    std::int64_t sum = 0;
    for (const Pass pass : passes) base::addWrapped(sum, cost.ticks.at(pass).count);
    return sum;
  }
};

const std::vector<PassColumn>& passColumns() {
  static const std::vector<PassColumn> kColumns = {
      {"forward_cycles", "Forward", "", {Pass::forward}},
      {"recompute_cycles", "Recompute", "", {Pass::recompute}},
      {"backward_cycles", "Backward", "", {Pass::backward}},
      {"weight_gradient_cycles", "Weight gradient", "", {Pass::weightGradient}},
      {"update_cycles", "Update", "", {Pass::update}},
      {"collective_cycles", "Collective", "between replicas", {Pass::collective}},
      {"copy_cycles",
       "Copies",
       "from and to the host and streaming memory, and what belongs to no pass",
       {Pass::hostIn, Pass::hostOut, Pass::remote, Pass::sync, Pass::other}}};
  return kColumns;
}

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

/// Times are whole ticks, so that a few ticks at the peak may seem to exceed it.
constexpr double kRoundedTicks = 1.01;

Cell integerOf(std::int64_t value) {
  return Cell(value);
}

/// Decides whether a sum over all operations is known. Devices of tiles have it even if it is 0. Other
/// devices' model has no such figure, so 0 means there that nothing is known.
bool isKnownSum(const Words& words, std::int64_t sum) {
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
        peak_(peak),
        iterations_(all.iterations) {
    basis_ = "one replica, one iteration";
    const model::Executable* executable = context.catalog.executable(context.executable);
    if (executable != nullptr && executable->microBatches > 0)
      basis_ += fmt::format(" of {} micro-batch{}", formatCell(executable->microBatches, Format::count),
                            executable->microBatches == 1 ? "" : "es");
    for (const model::Stage* stage : context.catalog.stagesOf(context.executable)) {
      const model::Device* device = context.catalog.device(stage->device);
      if (device != nullptr) devices_[stage->index] = device->name;
    }
  }

  SectionTable make(const std::vector<Operation>& rows) const {
    SectionTable table{kind_.key, kind_.title, words_.basis(basis_), {}, {}};
    addColumns(table);
    table.rows.reserve(rows.size());
    for (const Operation& row : rows) table.rows.push_back(cellsOf(row, table.columns.size()));
    return table;
  }

  std::vector<Cell> cellsOf(const Operation& row, std::size_t columns) const {
    const OperationCost& cost = row.cost;
    const auto all = static_cast<double>(whole_.total().count);
    // An initializer list would copy every text once more, and there may be very many operations.
    std::vector<Cell> cells;
    cells.reserve(columns);
    for (const std::string* words : {&row.name, &row.kind, &row.block}) cells.emplace_back(*words);
    cells.push_back(row.stage < 0 ? Cell() : Cell(std::int64_t{row.stage}));
    if (single()) {
      cells.emplace_back(row.layer);
      cells.push_back(deviceOf(row.stage));
      cells.push_back(row.pass ? Cell(model::toString(*row.pass)) : Cell());
    }
    cells.push_back(ifSteps(cost.total().count));
    cells.push_back(all > 0 ? Cell(static_cast<double>(cost.total().count) / all) : Cell());
    for (const PassColumn& pass : passColumns()) cells.push_back(ifSteps(pass.of(cost)));
    cells.push_back(ifSteps(base::wrappedProduct(iterations_, cost.total().count)));
    for (const std::int64_t n : {cost.compute.count, cost.exchange.count, cost.sync.count, cost.other.count})
      cells.push_back(ifSteps(n));
    addRates(cost, cells);
    cells.push_back(isKnownSum(words_, whole_.exchanged.count) ? ifSteps(cost.exchanged.count) : Cell());
    const auto balance = cost.tileBalance();
    cells.push_back(balance && words_.tiles ? Cell(*balance) : Cell());
    cells.push_back(ifSteps(cost.programs));
    for (const auto& [sum, own] :
         {std::pair(whole_.code, cost.code), std::pair(whole_.weights, cost.weights)})
      cells.push_back(isKnownSum(words_, sum.count) ? integerOf(own.count) : Cell());
    return cells;
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
    table.columns.push_back({"cycles", words_.cycles(), Format::ticks,
                             "all passes of an iteration: the sum of the columns from Forward to Copies"});
    table.columns.push_back({"share", "Share", Format::fraction, "of the time of all operations"});
    for (const PassColumn& pass : passColumns())
      table.columns.push_back({pass.key, pass.title, Format::ticks, pass.doc, !single() && pass.in(whole_)});
    table.columns.push_back({"call_cycles", std::string(words_.cycles()) + " per call", Format::ticks,
                             "all iterations of a call", false});
    for (const SectionColumn& column :
         {SectionColumn{"compute_cycles", "Compute", Format::ticks, ""},
          SectionColumn{"exchange_cycles", words_.exchange, Format::ticks, "within the chip, and collectives",
                        isKnownSum(words_, whole_.exchange.count)},
          SectionColumn{"sync_cycles", "Sync", Format::ticks, "", isKnownSum(words_, whole_.sync.count)},
          SectionColumn{"other_cycles", "Other", Format::ticks,
                        "copies from and to the host, and other steps", false},
          SectionColumn{"flops", "FLOP", Format::amount, "a multiply-add counts 2", whole_.flops > 0},
          SectionColumn{"flops_per_second", "FLOP/s", Format::amount,
                        "FLOP ÷ time; empty if the work runs within the kernel of another operation", false},
          SectionColumn{
              "peak_share", "Of peak", Format::fraction,
              "FLOP/s ÷ the device's peak for their types; empty if the work runs within the kernel of "
              "another operation",
              peak_ > 0},
          SectionColumn{"operand_bytes", "Operands", Format::bytes, "operands and results, all passes",
                        false},
          SectionColumn{"flop_per_byte", "FLOP per byte", Format::ratio,
                        "FLOP ÷ bytes of operands and results", false},
          SectionColumn{"exchanged_bytes", "Moved", Format::bytes,
                        "received by tiles from other tiles, all passes", false},
          SectionColumn{"tile_balance", "Tile balance", Format::fraction,
                        "mean ÷ slowest tile over the compute steps, weighted by time", false},
          SectionColumn{"programs", "Programs", Format::count, "each counts once", false},
          SectionColumn{"code_bytes", "Code", Format::bytes, "with descriptors and vertex state",
                        isKnownSum(words_, whole_.code.count)},
          SectionColumn{"always_live_bytes", "Tensors", Format::bytes,
                        "weights, optimizer state, accumulators, stashes",
                        isKnownSum(words_, whole_.weights.count)}})
      table.columns.push_back(column);
  }

  /// Figures of programs are unknown, because FLOP and operands belong to the whole operator.
  void addRates(const OperationCost& cost, std::vector<Cell>& cells) const {
    const bool known = kind_.rows != OperationRows::programs;
    const double seconds =
        steps_ && hasSeconds_ ? static_cast<double>(cost.total().count) / ticksPerSecond_ : 0;
    const double least = cost.leastSeconds > 0 ? cost.leastSeconds : peak_ > 0 ? cost.flops / peak_ : 0;
    // An operation that needs less time than the peak allows runs within the kernel of another one.
    const bool rate = known && seconds > 0 && cost.flops > 0 && least <= seconds * kRoundedTicks;
    const auto bytes = static_cast<double>(cost.operands.count);
    cells.push_back(known && whole_.flops > 0 ? Cell(cost.flops) : Cell());
    cells.push_back(rate ? Cell(cost.flops / seconds) : Cell());
    cells.push_back(rate && least > 0 ? Cell(least / seconds) : Cell());
    cells.push_back(known && whole_.operands.count > 0 ? integerOf(cost.operands.count) : Cell());
    cells.push_back(known && bytes > 0 ? Cell(cost.flops / bytes) : Cell());
  }

  Cell deviceOf(std::int32_t stage) const {
    const auto found = devices_.find(stage);
    return found == devices_.end() ? Cell() : Cell(found->second);
  }

  Cell ifSteps(std::int64_t value) const { return steps_ ? Cell(value) : Cell(); }

  const RowsDefinition& kind_;
  const OperationCost& whole_;
  Words words_;
  double ticksPerSecond_;
  bool hasSeconds_, steps_;
  double peak_;
  std::int64_t iterations_;  ///< iterations of a call
  std::string basis_;
  std::map<std::int32_t, std::string> devices_;  ///< name, by stage
};

}  // namespace

base::Result<std::vector<Ceiling>> ceilingsOf(const Context& context) {
  PIPESCOPE_ASSIGN(const analysis::FlopUse use,
                   analysis::flopUse(context.source, context.catalog, context.executable));
  std::vector<Ceiling> ceilings;
  // The ceiling is the highest peak among the types of products that the program has.
  const double peak =
      std::max(use.peakPerDevice, analysis::OperatorPeaks(context.catalog, context.executable).highest());
  if (peak > 0) ceilings.push_back({"compute", "Arithmetic peak", peak, true});
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

/// The operators of an analysis, which it keeps.
class AnalysedOperators final : public OperatorList {
 public:
  AnalysedOperators(std::shared_ptr<const analysis::Operations> all, OperationTable table)
      : all_(std::move(all)), table_(std::move(table)), columns_(table_.make({}).columns.size()) {}

  std::size_t size() const override { return all_->operators.size(); }
  const std::string& layer(std::size_t row) const override { return all_->operators[row].layer; }
  const std::string& kind(std::size_t row) const override { return all_->operators[row].kind; }
  const std::string& block(std::size_t row) const override { return all_->operators[row].block; }
  std::vector<Cell> cells(std::size_t row) const override {
    return table_.cellsOf(all_->operators[row], columns_);
  }

 private:
  std::shared_ptr<const analysis::Operations> all_;
  OperationTable table_;
  std::size_t columns_;
};

void addIds(OperationTables& made, OperationRows kind, const std::vector<Operation>& rows) {
  std::vector<model::DebugContextId>& contexts = made.contexts[static_cast<std::size_t>(kind)];
  std::vector<model::OperatorId>& operators = made.operators[static_cast<std::size_t>(kind)];
  contexts.reserve(rows.size());
  operators.reserve(rows.size());
  for (const Operation& row : rows) {
    contexts.push_back(row.context);
    operators.push_back(row.op);
  }
}

}  // namespace

base::Result<OperationTables> shortOperationTables(const Context& context) {
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  PIPESCOPE_ASSIGN(const std::vector<Ceiling> ceilings, ceilingsOf(context));
  PIPESCOPE_ASSIGN(const auto all, operatorsOf(context));
  OperationTables made;
  made.contexts.resize(std::size(kOperationRowKinds));
  made.operators.resize(std::size(kOperationRowKinds));
  for (const RowsDefinition& kind : kOperationRowKinds) {
    const OperationTable table(kind, *all, context, recorded.steps, peakOf(ceilings));
    const std::vector<Operation>& list = listOf(*all, kind.rows);
    const bool shown = kind.rows != OperationRows::operators;
    made.tables.push_back(table.make(shown ? list : std::vector<Operation>()));
    if (!shown) made.list = std::make_shared<AnalysedOperators>(all, table);
    addIds(made, kind.rows, list);
    made.code.push_back(codeTable(list));
  }
  return made;
}

void addOperatorRows(OperationTables& tables) {
  std::vector<std::vector<Cell>>& rows =
      tables.tables[static_cast<std::size_t>(OperationRows::operators)].rows;
  rows.clear();
  rows.reserve(tables.list->size());
  for (std::size_t i = 0; i < tables.list->size(); ++i) rows.push_back(tables.list->cells(i));
}

namespace {

/// Programs as the analysis has them, and as a table.
struct Programs {
  analysis::Operations all;
  SectionTable table;
};

base::Result<Programs> programsOf(const Context& context, const std::set<model::OperatorId>& operators,
                                  std::size_t most) {
  PIPESCOPE_ASSIGN(analysis::Operations all,
                   analysis::operations(context.source, context.catalog, context.executable,
                                        {false, true, operators, most}));
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  PIPESCOPE_ASSIGN(const std::vector<Ceiling> ceilings, ceilingsOf(context));
  const RowsDefinition& kind = kOperationRowKinds[static_cast<std::size_t>(OperationRows::programs)];
  SectionTable table =
      OperationTable(kind, all, context, recorded.steps, peakOf(ceilings)).make(all.programs);
  return Programs{std::move(all), std::move(table)};
}

}  // namespace

base::Status addProgramRows(const Context& context, OperationTables& tables) {
  PIPESCOPE_ASSIGN(Programs programs, programsOf(context, {}, kMostPrograms));
  const analysis::Operations& all = programs.all;
  if (all.programs.size() < all.programCount)
    programs.table.basis +=
        fmt::format("; the {} longest of {}, an operator's programs are shown where it is selected",
                    formatCell(static_cast<std::int64_t>(all.programs.size()), Format::count),
                    formatCell(static_cast<std::int64_t>(all.programCount), Format::count));
  tables.tables[static_cast<std::size_t>(OperationRows::programs)] = std::move(programs.table);
  addIds(tables, OperationRows::programs, all.programs);
  return {};
}

base::Result<LongestPrograms> longestPrograms(const Context& context,
                                              const std::set<model::OperatorId>& operators,
                                              std::size_t most) {
  PIPESCOPE_ASSIGN(Programs programs, programsOf(context, operators, most));
  return LongestPrograms{std::move(programs.table), programs.all.programCount};
}

}  // namespace pipescope::sections
