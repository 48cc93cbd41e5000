#include "views/pages/parts/data/stages_data.h"

#include <algorithm>

#include "views/pages/parts/data/compare_data.h"
#include "views/pages/parts/data/section_lookup.h"

namespace pipescope::pages {
namespace {

std::int64_t capacityOf(const analysis::Catalog& catalog, int device) {
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    if (space.device.value == device) return (space.bytesPerUnit * space.units).count;
  }
  return 0;
}

}  // namespace

base::Result<StagesData> collectStagesPage(const sections::Context& context) {
  StagesData content;
  PIPESCOPE_ASSIGN(const auto report, stagesOf(context));
  content.report = *report;
  PIPESCOPE_ASSIGN(content.section, sectionNamed("stages", context));
  content.words = sections::wordsOf(context.catalog);
  content.measured = context.catalog.measured();
  content.remote = std::ranges::any_of(context.catalog.segments, [&](const model::Segment& segment) {
    return segment.executable == context.executable && segment.pass == model::Pass::remote;
  });
  for (const analysis::StageReport& stage : content.report.stages)
    content.capacities.push_back(capacityOf(context.catalog, stage.device));
  return content;
}

base::Status addCompared(const shell::ProfileSnapshot& source, const sections::Context& own,
                         StagesData& data) {
  const model::Executable* executable = own.catalog.executable(own.executable);
  if (executable == nullptr || source.catalog->executables.empty()) return {};
  PIPESCOPE_ASSIGN(
      sections::Section diff,
      comparedFigures({*source.source, *source.catalog, counterpartOf(*source.catalog, *executable)}, own));
  data.comparedPerUnit = diff.ticksPerShownUnit;
  for (sections::SectionTable& table : diff.tables) {
    if (table.key == "stages" || table.key == "stage_memory") data.compared.push_back(std::move(table));
  }
  return {};
}

}  // namespace pipescope::pages
