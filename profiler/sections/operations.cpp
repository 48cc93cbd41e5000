#include "profiler/analysis/model/operations.h"

#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/operation_rows.h"

namespace pipescope::sections {
namespace {

SectionTable ceilingTable(const std::vector<Ceiling>& ceilings) {
  SectionTable table{"ceilings", "What bounds the speed", "of one device; peaks of the data sheet", {}, {}};
  table.columns = {{"key", "Key", Format::plain, "", false},
                   {"name", "Bound", Format::plain, ""},
                   {"flops_per_second", "FLOP/s", Format::amount, "of the arithmetic units"},
                   {"bytes_per_second", "Bytes", Format::byteRate, "of a memory"}};
  for (const Ceiling& ceiling : ceilings)
    table.rows.push_back({ceiling.key, ceiling.name, ceiling.compute ? Cell(ceiling.rate) : Cell(),
                          ceiling.compute ? Cell() : Cell(ceiling.rate)});
  return table;
}

}  // namespace

base::Result<Section> operationsWithoutTables(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, operationsOf(context));
  const analysis::Operations& all = *made;
  Section section{"operations", "Operations", {}, {}, {}};
  const bool any = !all.operations.empty();
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  section.facts = {
      {"layers_of_origin", "Layers of origin",
       any || !context.catalog.measured() ? Cell(static_cast<std::int64_t>(all.operations.size())) : Cell(),
       Format::count, "Forward operators; each counts its gradients, accumulators and updates as its own."},
      {"cycles", "Time", any && recorded.steps ? Cell(all.whole.total().count) : Cell(), Format::ticks,
       "Of all operations of one replica in an iteration."},
      {"flops", "FLOP", all.whole.flops > 0 ? Cell(all.whole.flops) : Cell(), Format::amount,
       "Of all operations of one replica in an iteration; a multiply-add counts 2.", all.whole.flops > 0},
  };
  if (!any) lack(section, "This profile records no operations.");
  if (any && !recorded.steps) lack(section, kNoSteps);
  PIPESCOPE_ASSIGN(const std::vector<Ceiling> ceilings, ceilingsOf(context));
  section.tables.push_back(ceilingTable(ceilings));
  return section;
}

namespace {

base::Result<Section> makeOperations(const Context& context) {
  PIPESCOPE_ASSIGN(Section section, operationsWithoutTables(context));
  auto place = section.tables.begin();
  for (const OperationRows rows : {OperationRows::blocks, OperationRows::kinds, OperationRows::layers}) {
    PIPESCOPE_ASSIGN(SectionTable table, operationTable(context, rows));
    constexpr std::size_t kMostInText = 20;
    if (rows == OperationRows::layers) table.mostInText = kMostInText;
    place = section.tables.insert(place, std::move(table)) + 1;
  }
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(operations) {
  registry.add({"operations", "Operations",
                "Time, code and memory by layer of the model, block and operator type", 64, makeOperations});
}

}  // namespace pipescope::sections
