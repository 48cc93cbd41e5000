#include "views/pages/parts/data/summary_data.h"

#include <algorithm>

#include "profiler/figures/figure.h"
#include "profiler/sections/out_of_memory.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

using sections::Format;

namespace {

/// Gives the words a capital letter at the beginning and a full stop at the end, as all other meanings of the
/// table have them.
std::string asSentence(std::string words) {
  if (words.empty()) return words;
  if (words.front() >= 'a' && words.front() <= 'z')
    words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words.ends_with('.') ? words : words + '.';
}

/// Outcomes of the run and figures without a card, each with its denominator. Of a single stage nothing is
/// said about pipelines.
sections::SectionTable figureTable(const sections::Section& section, const analysis::Catalog& catalog,
                                   bool isPipeline) {
  sections::SectionTable table{"figures",
                               "Outcomes and figures",
                               "",
                               {{"name", "Figure", Format::plain, ""},
                                {"value", "Value", Format::plain, ""},
                                {"doc", "Meaning", Format::plain, ""}},
                               {}};
  const bool hasLoss = std::ranges::any_of(
      catalog.outcomes, [](const model::Outcome& row) { return row.name == "final_loss"; });
  for (const std::string_view key :
       {"step_cycles", "step_least_cycles", "model_flop_use", "flop_use_with_recompute", "imbalance",
        "bubble_fraction", "final_loss"}) {
    const sections::Fact* fact = factNamed(section, key);
    if (fact == nullptr || std::holds_alternative<std::monostate>(fact->value)) continue;
    if (key == "final_loss" && hasLoss) continue;  // the outcomes below show it
    const figures::Figure* figure = figures::findFigure(key);
    if (!isPipeline && figure != nullptr && figure->ofSeveralStages) continue;
    // The two are the same without recompute.
    if (key == "flop_use_with_recompute" && fact->value == factNamed(section, "model_flop_use")->value)
      continue;
    table.rows.push_back({fact->label,
                          key == "step_cycles" ? cardText(fact->value, fact->format, section.time())
                                               : factText(section, *fact),
                          fact->doc});
  }
  for (const model::Outcome& row : catalog.outcomes) {
    if (row.kind == model::OutcomeKind::forecast && !isPipeline) continue;  // of the bubble
    table.rows.push_back({sections::outcomeName(row), sections::outcomeValue(row), asSentence(row.basis)});
  }
  return table;
}

/// Returns the busy share of each engine of the devices; the table is empty if nothing has run.
base::Result<sections::SectionTable> enginesTable(const sections::Context& context) {
  PIPESCOPE_ASSIGN(sections::Section section, sectionNamed("engines", context));
  return section.tables.empty() ? sections::SectionTable() : std::move(section.tables.front());
}

}  // namespace

std::vector<ShownFact> targetFacts(const analysis::Catalog& catalog) {
  std::vector<ShownFact> facts = {
      {QObject::tr("System"), text(catalog.target.name), text(catalog.target.description)}};
  const auto add = [&](const QString& label, const QString& value) {
    if (!value.isEmpty()) facts.push_back({label, value, {}});
  };
  if (!catalog.devices.empty()) {
    const model::Device& device = catalog.devices.front();
    const std::int64_t used = catalog.target.devicesUsed;
    const QString all = QObject::tr("%1 × %2").arg(catalog.target.devices).arg(text(device.kind));
    // No stage of a recorded trace means only that its passes were not recognised.
    const bool known = used > 0 || !catalog.measured();
    add(QObject::tr("Devices"),
        !known ? all
               : (used == 1 ? QObject::tr("%1, %2 holds a stage") : QObject::tr("%1, %2 hold a stage"))
                     .arg(all)
                     .arg(used));
    add(QObject::tr("Clock"), text(device.clock));
    if (device.units > 1)
      add(QObject::tr("Per device"),
          QObject::tr("%1 %2s").arg(text(geometry::groupedNumber(device.units)), text(device.unitName)));
  }
  if (!catalog.memorySpaces.empty()) {
    const model::MemorySpace& space = catalog.memorySpaces.front();
    const auto bytes = [](std::int64_t n) { return text(formatCell(n, Format::bytes)); };
    add(QObject::tr("Memory"),
        space.units > 1
            ? QObject::tr("%1 × %2 = %3 each")
                  .arg(text(geometry::groupedNumber(space.units)), bytes(space.bytesPerUnit.count),
                       bytes((space.bytesPerUnit * space.units).count))
            : QObject::tr("%1 %2 each").arg(bytes(space.bytesPerUnit.count), memoryWords(space.kind)));
  }
  add(QObject::tr("Device model"), text(catalog.property("device_model")));
  add(QObject::tr("Written by"), QStringLiteral("pipescope ") + text(catalog.property("tool_version")));
  add(QObject::tr("Created"), text(catalog.property("created_utc")));
  add(QObject::tr("Command"), text(catalog.property("command_line")));
  return facts;
}

base::Result<SummaryData> collectSummaryPage(const sections::Context& context) {
  SummaryData content;
  PIPESCOPE_ASSIGN(content.section, sectionNamed("summary", context));
  PIPESCOPE_ASSIGN(content.options, sectionNamed("options", context));
  PIPESCOPE_ASSIGN(content.bands, sectionNamed("error_bands", context));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  content.memory = *memory;
  PIPESCOPE_ASSIGN(content.overflow, overflowTable(context, *memory));
  content.advice = adviceTable(context);
  PIPESCOPE_ASSIGN(const sections::Section room, sections::memoryOfDevices(context));
  content.memoryInterval = intervalIn(room, "max_tile_least_bytes");
  PIPESCOPE_ASSIGN(const auto execution, executionOf(context));
  content.execution = *execution;
  PIPESCOPE_ASSIGN(content.stages, stagesOf(context));
  PIPESCOPE_ASSIGN(content.engines, enginesTable(context));
  if (context.catalog.measured() && content.stages->stages.empty()) {
    PIPESCOPE_ASSIGN(content.kernels, sectionNamed("kernels", context));
  }
  content.ran = context.catalog.lastRunOf(context.executable) != nullptr;
  content.figures = figureTable(content.section, context.catalog, content.stages->stages.size() > 1);
  return content;
}

}  // namespace pipescope::pages
