#include "views/workbench/run_figures.h"

#include <QFile>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/run_folder.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/data/section_lookup.h"

namespace pipescope::workbench {
namespace {

QString shownFact(const sections::Section& section, const char* key) {
  const sections::Fact* fact = pages::factNamed(section, key);
  if (fact == nullptr) return {};
  return QString::fromStdString(sections::factText(section, *fact));
}

}  // namespace

base::Result<RunFigures> readFigures(const shell::Opener& open, const QString& profile) {
  PIPESCOPE_ASSIGN(const shell::OpenedSource opened, open(QFile::encodeName(profile).toStdString()));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(*opened.source));
  RunFigures figures;
  figures.state = QString::fromStdString(model::toString(catalog->state.state));
  figures.options = analysis::optionsForAnyFolder(*catalog);
  if (catalog->executables.empty()) return figures;
  const sections::Context context{*opened.source, *catalog, catalog->executables.begin()->id};
  PIPESCOPE_ASSIGN(const sections::Section summary, pages::sectionNamed("summary", context));
  PIPESCOPE_ASSIGN(const sections::Section stages, pages::sectionNamed("stages", context));
  figures.stepTime = shownFact(stages, "step_cycles");
  figures.stepInterval = pages::intervalIn(stages, "step_least_cycles");
  figures.samplesPerSecond = shownFact(summary, "samples_per_second");
  figures.bubble = shownFact(summary, "bubble_fraction");
  figures.imbalance = shownFact(summary, "imbalance");
  figures.fits = shownFact(summary, "fits");
  figures.loss = shownFact(summary, "final_loss");
  return figures;
}

}  // namespace pipescope::workbench
