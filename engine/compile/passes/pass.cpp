#include "engine/compile/passes/pass.h"

#include <algorithm>
#include <utility>

namespace pipescope::compile {

void PassRegistry::add(PassDefinition definition) {
  PIPESCOPE_CHECK((definition.onGraph != nullptr) != (definition.onIr != nullptr),
                  definition.name + " acts on the graph or on the IR");
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
    PassReport report{pass.name, enabled_(pass.name), {}};
    if (report.enabled) {
      PIPESCOPE_ASSIGN(report.effect, pass.onGraph(graph, context_));
    }
    reports_.push_back(std::move(report));
  }
  return {};
}

void PassRunner::runOn(ExecutableIr& ir) {
  for (const PassDefinition& pass : passRegistry().all()) {
    if (!pass.onIr) continue;
    PassReport report{pass.name, enabled_(pass.name), {}};
    if (report.enabled) {
      report.effect = pass.onIr(ir);
    } else if (pass.withoutIt) {
      pass.withoutIt(ir);
    }
    reports_.push_back(std::move(report));
  }
}

void PassRunner::add(std::vector<PassReport> ofPart) {
  for (PassReport& part : ofPart) {
    const auto report = std::ranges::find(reports_, part.name, &PassReport::name);
    if (report == reports_.end()) {
      reports_.push_back(std::move(part));
      continue;
    }
    PassEffect& effect = report->effect;
    effect.changes += part.effect.changes;
    effect.bytes += part.effect.bytes;
    effect.ticks += part.effect.ticks;
    effect.removed.merge(part.effect.removed);
    effect.added.merge(part.effect.added);
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
