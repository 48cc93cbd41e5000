#include "profiler/analysis/pva/report.h"

#include <algorithm>

#include "profiler/analysis/pva/profile.h"

namespace pipescope::pva {

Result<Report> Report::make(std::shared_ptr<const model::ProfileSource> source) {
  auto profile = std::make_shared<detail::Profile>();
  PIPESCOPE_ASSIGN(profile->catalog, analysis::loadCatalog(*source));
  profile->source = std::move(source);
  Report report;
  report.profile_ = std::move(profile);
  return report;
}

std::vector<std::string> Report::executables() const {
  std::vector<std::string> names;
  for (const model::Executable& row : profile_->catalog->executables) names.push_back(row.name);
  return names;
}

Result<Compilation> Report::compilation(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  Compilation compilation;
  compilation.profile_ = profile_;
  compilation.executable_ = found->id;
  return compilation;
}

Result<Execution> Report::execution(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  Execution execution;
  execution.profile_ = profile_;
  execution.executable_ = found->id;
  return execution;
}

Result<std::vector<Operation>> Report::operations(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::Operator>(
                       *profile_->source, [&](const auto& row) { return row.executable == found->id; }));
  std::vector<Operation> operations;
  for (const model::Operator& row : rows) {
    operations.push_back({detail::contextOf(*profile_, row.debugContext),
                          profile_->catalog->namePath(row.debugContext), row.kind, model::toString(row.pass),
                          row.stage, row.flops, row.bytes.count});
  }
  return operations;
}

Result<InstrumentationSettings> Report::instrumentationSettings() const {
  base::Status readable;
  const auto any = [&]<class Row>(const Row&) {
    const auto blocks = profile_->source->blocks<Row>();
    if (!blocks.ok()) readable = blocks.error();
    return blocks.ok() &&
           std::ranges::any_of(*blocks, [](const model::BlockInfo& block) { return block.rows > 0; });
  };
  const bool tiles = any(model::StepUnits()), steps = any(model::Step()),
             placements = any(model::Placement());
  const bool transfers = any(model::Transfer());
  PIPESCOPE_TRY(readable);
  return InstrumentationSettings{tiles        ? "Tile"
                                 : steps      ? "Ipu"
                                 : placements ? "Device"
                                              : "Off",
                                 transfers ? "Tile" : "Off"};
}

std::string Report::property(const std::string& key) const {
  return profile_->catalog->property(key);
}

DebugContext Report::debugContext(std::int64_t id) const {
  return detail::contextOf(*profile_, model::DebugContextId(id));
}

Result<DebugContext> Report::debugContextOfVariable(std::int64_t id) const {
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::Variable>(*profile_->source,
                                                      [&](const auto& row) { return row.id.value == id; }));
  return debugContext(rows.empty() ? -1 : rows.front().debugContext.value);
}

const model::ProfileSource& Report::source() const {
  return *profile_->source;
}

}  // namespace pipescope::pva
