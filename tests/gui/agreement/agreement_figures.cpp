#include "agreement_figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "app/run/execute/run.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::testing {

using nlohmann::json;

std::shared_ptr<Recorded> record(const Sample& sample) {
  auto recorded = recordWith(sample, {});
  if (!recorded.ok()) return ADD_FAILURE() << recorded.error().message, nullptr;
  return *recorded;
}

base::Result<std::shared_ptr<Recorded>> recordWith(const Sample& sample,
                                                   const std::map<std::string, std::string>& settings) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::readConfiguration(sample.path));
  PIPESCOPE_TRY(configuration.setText("execution.numerics", "false", config::Origin::flag));
  for (const auto& [key, value] : settings)
    PIPESCOPE_TRY(configuration.setText(key, value, config::Origin::flag));
  const auto file = std::filesystem::temp_directory_path() /
                    ("agreement_" + std::to_string(getpid()) + "_" + sample.name + ".pop");
  base::SilentProgress progress;
  PIPESCOPE_TRY(app::runConfiguration(configuration, {file.string(), "test"}, progress));
  auto recorded = std::make_shared<Recorded>();
  recorded->source = store::ProfileReader::open(file.string()).value();
  recorded->catalog = analysis::loadCatalog(*recorded->source).value();
  std::filesystem::remove(file);  // the reader keeps it open
  return recorded;
}

Figures::Figures(const Recorded& recorded, model::ExecutableId executable)
    : context_{*recorded.source, *recorded.catalog, executable}, run_(catalog().lastRunOf(executable)) {
  for (const char* name : {"summary", "execution", "engines", "stages", "waits", "memory", "liveness",
                           "system", "operations", "insights"}) {
    const auto made = sections::makeSection(*sections::sectionRegistry().find(name), context_);
    EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message);
    if (made.ok()) sections_[name] = json::parse(sections::toJson(*made));
  }
  base::SilentProgress progress;
  analysis::TraceRequest request;
  request.executable = executable;
  trace_ = analysis::loadTrace(*recorded.source, catalog(), request, progress).value();
  for (int i = 0; i < 1 || i < grids_.front().iterations; ++i) {
    analysis::PipelineRequest asked;
    asked.executable = executable;
    asked.iteration = i;
    grids_.push_back(analysis::pipelineGrid(*recorded.source, catalog(), asked, progress).value());
  }
}

std::vector<model::Placement> Figures::passes(std::int32_t iteration) const {
  std::vector<model::Placement> found;
  const auto rows = analysis::rowsOfRun<model::Placement>(context_.source, *run_).value();
  for (const model::Placement& p : rows) {
    if (model::isComputePass(p.pass) && p.replica == 0 && p.iteration == iteration) found.push_back(p);
  }
  return found;
}

}  // namespace pipescope::testing
