#include "profiler/sections/reports.h"

namespace pipescope::sections {

/// The reports that were computed without an error.
struct ReportCache {
  std::shared_ptr<const analysis::Execution> execution;
  std::shared_ptr<const analysis::StagesReport> stages;
  std::shared_ptr<const analysis::Memory> memory;
};

std::shared_ptr<ReportCache> makeReportCache() {
  return std::make_shared<ReportCache>();
}

namespace {

template <class Report, class Make>
SharedReport<Report> onceMade(std::shared_ptr<const Report>& kept, const Context& context, Make make) {
  if (!kept) {
    PIPESCOPE_ASSIGN(Report made, make(context.source, context.catalog, context.executable));
    kept = std::make_shared<const Report>(std::move(made));
  }
  return kept;
}

}  // namespace

SharedReport<analysis::Execution> executionOf(const Context& context) {
  return onceMade(context.reports->execution, context, analysis::execution);
}

SharedReport<analysis::StagesReport> stagesOf(const Context& context) {
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  return onceMade(context.reports->stages, context, [&](const auto& source, const auto& catalog, auto id) {
    return analysis::stagesReport(source, catalog, id, *memory);
  });
}

SharedReport<analysis::Memory> memoryOf(const Context& context) {
  return onceMade(context.reports->memory, context, analysis::memory);
}

}  // namespace pipescope::sections
