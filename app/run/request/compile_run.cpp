#include "app/run/request/compile_run.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "app/run/request/accelerator.h"
#include "app/run/request/configuration_checks.h"
#include "app/run/request/fixed/fixed_configuration.h"
#include "app/run/request/model_defaults.h"
#include "app/run/request/model_translation.h"
#include "app/run/request/user_folders.h"
#include "engine/compiler/model_compiler.h"
#include "engine/devices/system_registry.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {
namespace {

/// All that a request is made of, but for the number of micro-batches.
std::string originOf(const config::Configuration& c) {
  std::string text;
  for (const config::OptionRow& row : c.dump()) {
    if (row.path == "training.gradient_accumulation") continue;
    text += fmt::format("{}={}\n", row.path, row.value);
    if (const auto content = c.content(row.path)) text += fmt::format("{}\n", fmt::ptr(content.get()));
  }
  return text;
}

base::Result<compile::ModelRequest> requestOf(const config::Configuration& c) {
  PIPESCOPE_HOST_SPAN(span, "compiler", "read the model");
  PIPESCOPE_ASSIGN(compile::ModelRequest request, modelRequest(c));
  request.origin = originOf(c);
  return request;
}

/// One device of the request's system, which knows what its framework does. A system of 100,000 devices takes
/// a tenth of a second.
base::Result<std::shared_ptr<const devices::System>> frameworkOf(const compile::ModelRequest& request) {
  devices::SystemOptions one = request.systemOptions;
  one.devices = 1;
  return devices::makeSystem(request.system, one);
}

/// A configuration that has passed all checks before compilation.
struct CheckedRun {
  std::variant<compile::FixedRun, compile::ModelRequest> request;
  std::optional<std::string> notice;
};

base::Result<CheckedRun> checkedRun(const config::Configuration& given) {
  PIPESCOPE_ASSIGN(const config::Configuration defaults, withModelDefaults(given));
  PIPESCOPE_ASSIGN(const ChosenSystem chosen, chooseSystem(defaults));
  const config::Configuration& c = chosen.configuration;
  const std::string& system = c.text("system.name");
  if (devices::hasGivenCosts(system, userConfigurationFolder())) {
    PIPESCOPE_ASSIGN(compile::FixedRun run, fixedRun(c));
    return CheckedRun{std::move(run), std::nullopt};
  }
  for (const char* table : {"fixed.stages", "fixed.layers"}) {
    if (!c.tables(table).empty())
      return base::badInput(
          fmt::format("[[{}]] belongs to system.name = \"fixed\", but the system is {}.", table, system));
  }
  PIPESCOPE_TRY(checkConfiguration(c));
  PIPESCOPE_ASSIGN(compile::ModelRequest request, requestOf(c));
  PIPESCOPE_ASSIGN(const auto framework, frameworkOf(request));
  request.layout.copiesWeights = framework->copiesWeights();
  if (request.recompute.mode == compile::RecomputeRequest::Mode::automatic)
    request.recompute.usual = framework->recomputesPipelines();
  return CheckedRun{std::move(request), chosen.notice};
}

}  // namespace

base::Status checkRun(const config::Configuration& configuration) {
  PIPESCOPE_ASSIGN([[maybe_unused]] const CheckedRun checked, checkedRun(configuration));
  return {};
}

base::Result<compile::ModelRequest> requestOfRun(const config::Configuration& configuration) {
  PIPESCOPE_ASSIGN(CheckedRun checked, checkedRun(configuration));
  if (auto* request = std::get_if<compile::ModelRequest>(&checked.request)) return std::move(*request);
  return base::badInput("system.name = \"fixed\" has given costs and no model.");
}

base::Status addWeightCopies(compile::ModelRequest& request) {
  PIPESCOPE_ASSIGN(const auto framework, frameworkOf(request));
  request.layout.copiesWeights = framework->copiesWeights();
  return {};
}

base::Result<compile::Compilation> compileRun(const config::Configuration& given, base::Executor* executor,
                                              plan::SharedStages* known) {
  PIPESCOPE_ASSIGN(const CheckedRun checked, checkedRun(given));
  if (const auto* fixed = std::get_if<compile::FixedRun>(&checked.request))
    return compile::compileFixed(*fixed);
  const auto& request = std::get<compile::ModelRequest>(checked.request);
  base::SerialExecutor serial;
  PIPESCOPE_ASSIGN(compile::Compilation compilation,
                   plan::compileDivided(request, executor == nullptr ? serial : *executor, known));
  if (checked.notice) compilation.notices.push_back(*checked.notice);
  return compilation;
}

}  // namespace pipescope::app
