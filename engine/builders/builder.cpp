#include "engine/builders/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/builders/presets.h"
#include "engine/config/suggestion.h"

namespace pipescope::builders {
namespace {

using base::badInput;
using base::Result;
using base::Status;

Status checkSettingNames(const BuilderRequest& request, const BuilderDefinition& definition) {
  std::vector<std::string> known;
  for (const BuilderKey& key : definition.keys) known.push_back(key.name);
  for (const auto& [name, value] : request.settings) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return badInput(fmt::format("model.{} is given, but the builder {} has no such setting{}", name,
                                definition.name, config::suggestion(name, known)));
  }
  return {};
}

Status checkNumber(const BuilderKey& key, double value) {
  if (value >= key.least && value <= key.most) return {};
  return badInput(fmt::format("model.{} is {}; it must be {} to {}", key.name, value, key.least, key.most));
}

Status checkValue(const BuilderKey& key, const Setting& value) {
  static constexpr const char* kinds[] = {"true or false", "a whole number", "a number", "a text"};
  if (value.index() != key.fallback.index())
    return badInput(fmt::format("model.{} must be {}", key.name, kinds[key.fallback.index()]));
  if (const auto* n = std::get_if<std::int64_t>(&value)) return checkNumber(key, static_cast<double>(*n));
  if (const auto* x = std::get_if<double>(&value)) return checkNumber(key, *x);
  const auto* text = std::get_if<std::string>(&value);
  if (!text || key.choices.empty() || std::ranges::find(key.choices, *text) != key.choices.end()) return {};
  return badInput(
      fmt::format("model.{} is \"{}\"; it must be one of {}", key.name, *text, fmt::join(key.choices, ", ")));
}

Result<const BuilderDefinition*> findBuilder(const BuilderRegistry& registry, const std::string& name) {
  const auto found = registry.definitions().find(name);
  if (found != registry.definitions().end()) return &found->second;
  std::vector<std::string> known;
  for (const auto& [each, definition] : registry.definitions()) known.push_back(each);
  return badInput(fmt::format("the builder {} is not known{}", name, config::suggestion(name, known)));
}

}  // namespace

const BuilderRegistry& builderRegistry() {
  static const BuilderRegistry registry = [] {
    BuilderRegistry all;
    registerBuilders(all);
    const Status known = addPresets(all);
    PIPESCOPE_CHECK(known.ok(), known.ok() ? "" : known.error().message);
    return all;
  }();
  return registry;
}

void BuilderRegistry::add(BuilderDefinition definition) {
  const std::string name = definition.name;
  const bool isNew = definitions_.emplace(name, std::move(definition)).second;
  PIPESCOPE_CHECK(isNew, "builder " + name + " is registered twice");
}

Result<graph::Graph> buildModel(const BuilderRequest& request, const ops::OperatorRegistry& registry) {
  PIPESCOPE_ASSIGN(const BuilderDefinition* definition, findBuilder(builderRegistry(), request.builder));
  PIPESCOPE_TRY(checkSettingNames(request, *definition));
  if (request.microBatch < 1)
    return badInput(fmt::format("the micro-batch size is {}; it must be at least 1", request.microBatch));
  std::map<std::string, Setting> values;
  for (const BuilderKey& key : definition->keys) {
    const auto given = request.settings.find(key.name);
    const Setting& value = given == request.settings.end() ? key.fallback : given->second;
    PIPESCOPE_TRY(checkValue(key, value));
    values[key.name] = value;
  }
  const BuilderSettings settings(std::move(values));
  PIPESCOPE_ASSIGN(graph::Graph graph, definition->build({settings, request, registry}));
  PIPESCOPE_TRY(ops::checkShapes(graph, registry));
  graph.giveBackRoom();
  return graph;
}

}  // namespace pipescope::builders
