#include "views/pages/parts/layout/empty_states.h"

#include <algorithm>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

QString whyNothingRan(const analysis::Catalog& catalog, model::ExecutableId executable) {
  return catalog.lastRunOf(executable) != nullptr ? QString() : tr("Nothing of this executable has run yet.");
}

QString whyNoPipeline(const analysis::Catalog& catalog, model::ExecutableId executable) {
  if (catalog.stagesOf(executable).empty())
    return tr("This executable has no stages, so there is no pipeline to show.");
  return whyNothingRan(catalog, executable);
}

QString whyNoWaits(const analysis::Catalog& catalog, model::ExecutableId executable) {
  if (catalog.measured() && catalog.stagesOf(executable).empty())
    return tr(
        "No passes of stages were recognised in the trace, so there are no waits between stages. The page "
        "Recorded shows why accelerators are idle; pipescope import --rules names passes.");
  return whyNothingRan(catalog, executable);
}

QString whyNoStragglers(const analysis::Catalog& catalog, model::ExecutableId executable) {
  if (catalog.measured() && catalog.stagesOf(executable).empty())
    return tr(
        "No passes of pipeline stages were recognised in the trace, so there is no verdict on stragglers. "
        "The page Recorded shows which ranks arrive last at collectives; pipescope import --rules names "
        "passes.");
  return whyNotRecorded(catalog);
}

QString whyNoOperations(const analysis::Catalog& catalog) {
  return catalog.measured() && catalog.operators.empty()
             ? tr("The imported trace names kernels and no operations of a model. The page Recorded lists "
                  "the "
                  "kernels.")
             : QString();
}

QString whyNotRecorded(const analysis::Catalog& catalog) {
  return catalog.measured() ? QString()
                            : tr("This run was emulated. The page is for traces that another tool recorded "
                                 "on hardware: open "
                                 "one, or import several with pipescope import.");
}

QString whyNoOperators(const analysis::Catalog& catalog) {
  return catalog.operators.empty() ? tr("This profile records no operators, so there is no graph to draw.")
                                   : QString();
}

QString whyNoPrograms(const analysis::Catalog& catalog) {
  return catalog.programs.empty()
             ? tr("This profile has no programs: it was imported, or its run stated costs only.")
             : QString();
}

QString whyNoHost(const analysis::Catalog& catalog) {
  return catalog.measured() ? tr("This profile was made from a trace of another tool, so nothing is known of "
                                 "what Pipescope's host did.")
                            : QString();
}

QString whyNoMemory(const analysis::Catalog& catalog) {
  if (catalog.measured())
    return tr(
        "The imported trace does not say what is in memory. The page Trace draws what it counts "
        "over time, such as allocated memory.");
  return catalog.memorySpaces.empty()
             ? tr("Memory is not modelled for this system: its costs come from the configuration. Emulate "
                  "another system, such as IPUs, Gaudis or cards, to see memory.")
             : tr("This profile holds no memory for the executable.");
}

QString whyNoLiveness(const analysis::Catalog& catalog) {
  if (catalog.measured()) return tr("The imported trace does not say what is live when.");
  return catalog.memorySpaces.empty()
             ? tr("Liveness is not modelled for this system: its costs come from the configuration. Emulate "
                  "another system, such as IPUs, Gaudis or cards, to see what is live when.")
             : tr("This profile holds no liveness for the executable.");
}

QString whyNoLoss(const analysis::Catalog& catalog, model::ExecutableId executable) {
  if (catalog.measured()) return tr("The imported trace records no loss.");
  if (catalog.target.tickMeaning == model::TickMeaning::cost)
    return tr("There is no loss, because only the costs of the stages are given and nothing is trained.");
  const model::Executable* row = catalog.executable(executable);
  if (row == nullptr || row->kind != model::ExecutableKind::training)
    return tr("This executable does not train. Choose a training executable above.");
  const auto& options = catalog.configuration;
  const auto numerics = std::ranges::find(options, "execution.numerics", &model::ConfigurationEntry::path);
  if (numerics != options.end() && numerics->value == "false")
    return tr(
        "There is no loss, because the run had no numerics: it emulated times and memory only. To train, run "
        "it again with execution.numerics = true.");
  return tr("No loss has been recorded, because no call has ended yet.");
}

QString whyNoTraining(const analysis::Catalog& catalog, model::ExecutableId executable) {
  const bool counts = std::ranges::any_of(catalog.counters, [&](const model::Counter& row) {
    return row.executable == executable && !row.device.valid();
  });
  const bool ended = std::ranges::any_of(catalog.outcomes, [&](const model::Outcome& row) {
    return row.executable == executable && row.kind != model::OutcomeKind::forecast;
  });
  const bool runs = catalog.state.state == model::ProfileState::running;
  return counts || ended || runs ? QString() : whyNoLoss(catalog, executable);
}

}  // namespace pipescope::pages
