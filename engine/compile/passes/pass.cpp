#include "engine/compile/passes/pass.h"

#include <algorithm>

namespace pipescope::compile {

void PassRegistry::add(PassDefinition definition) {
  PIPESCOPE_CHECK((definition.onGraph != nullptr) != (definition.onPlan != nullptr),
                  definition.name + " acts on the graph or on the plan");
  const auto place = std::ranges::upper_bound(definitions_, definition.order, {}, &PassDefinition::order);
  definitions_.insert(place, std::move(definition));
}

const PassRegistry& passRegistry() {
  static const PassRegistry all = [] {
    PassRegistry registry;
    registerPasses(registry);
    return registry;
  }();
  return all;
}

base::Status PassRunner::runOn(graph::Graph& graph) {
  for (const PassDefinition& pass : passRegistry().all()) {
    if (!pass.onGraph) continue;
    PassReport report{pass.name, runs(pass), {}};
    if (report.enabled) {
      PIPESCOPE_ASSIGN(report.effect, pass.onGraph(graph, context_));
    }
    reports_.push_back(std::move(report));
  }
  return {};
}

void PassRunner::runOn(ExecutablePlan& plan) {
  for (const PassDefinition& pass : passRegistry().all()) {
    if (!pass.onPlan) continue;
    PassReport report{pass.name, runs(pass), {}};
    if (report.enabled) {
      report.effect = pass.onPlan(plan);
    } else if (pass.withoutIt) {
      pass.withoutIt(plan);
    }
    reports_.push_back(std::move(report));
  }
}

void PassRunner::addClaim(const std::string& pass, std::int64_t changes, base::Bytes bytes, double ticks) {
  const auto report = std::ranges::find(reports_, pass, &PassReport::name);
  PIPESCOPE_CHECK(report != reports_.end(), "no pass " + pass);
  report->effect.changes += changes;
  report->effect.bytes += bytes;
  report->effect.ticks += ticks;
}

}  // namespace pipescope::compile
