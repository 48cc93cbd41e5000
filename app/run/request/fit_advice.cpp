#include "app/run/request/fit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "app/run/request/compile_run.h"
#include "app/run/request/float8_request.h"
#include "engine/compile/block_pattern.h"
#include "profiler/base/byte_text.h"

namespace pipescope::app {
namespace {

using base::Bytes;
using config::Configuration;

struct Change {
  std::string key, value;
};

/// The name with a "*" in the place of each number.
std::string withoutNumbers(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) pattern += c;
    if (digit && !pattern.ends_with('*')) pattern += '*';
  }
  return pattern;
}

/// Patterns that name these operators of the graph and no others, as few as repeated blocks allow.
std::vector<std::string> patternsOf(const std::vector<std::string>& names, const graph::Graph& graph) {
  const std::set<std::string> wanted(names.begin(), names.end());
  const auto namesOthers = [&](const std::string& pattern) {
    return std::ranges::any_of(graph.nodes(), [&](const graph::Node& node) {
      return node.pass == model::Pass::forward && compile::namesBlock(pattern, node.name) &&
             !wanted.contains(node.name);
    });
  };
  std::vector<std::string> patterns;
  for (const std::string& name : names) {
    const std::string pattern = withoutNumbers(name);
    if (std::ranges::find(patterns, pattern) == patterns.end())
      patterns.push_back(namesOthers(pattern) ? name : pattern);
  }
  return patterns;
}

/// The last result of each block but the last: what is kept if each block is computed again by itself.
std::string endsOfBlocks(const graph::Graph& graph) {
  std::vector<std::string> blocks, ends;
  for (const graph::Node& node : graph.nodes()) {
    if (node.pass != model::Pass::forward) continue;
    const auto found = std::ranges::find(blocks, node.block);
    if (found == blocks.end()) {
      blocks.push_back(node.block);
      ends.push_back(node.name);
    } else {
      ends[static_cast<std::size_t>(found - blocks.begin())] = node.name;
    }
  }
  if (!ends.empty()) ends.pop_back();
  std::string list;
  for (const std::string& pattern : patternsOf(ends, graph))
    list += (list.empty() ? "\"" : ", \"") + pattern + "\"";
  return list.empty() ? "" : "[" + list + "]";
}

void addBatches(const Configuration& c, const std::string& table, std::vector<Change>& changes) {
  const std::int64_t batch = c.integer(table + ".micro_batch_size");
  if (batch > 1) changes.push_back({table + ".micro_batch_size", std::to_string(batch / 2)});
}

void addTraining(const Configuration& c, const compile::CompiledExecutable& training,
                 std::vector<Change>& changes) {
  addBatches(c, "training", changes);
  if (training.facts.recompute == "none") changes.push_back({"execution.recompute", "pipeline"});
  if (c.texts("execution.checkpoints").empty() && training.graph) {
    if (std::string ends = endsOfBlocks(*training.graph); !ends.empty())
      changes.push_back({"execution.checkpoints", std::move(ends)});
  }
  changes.push_back({"training.accumulator", "float16"});
  for (const char* key : {"execution.offload_optimizer", "execution.offload_activations",
                          "execution.offload_accumulators", "execution.shard_optimizer"})
    changes.push_back({key, "true"});
}

/// Stages that Pipescope divides itself can be more: twice, four and eight times as many.
void addStages(const Configuration& c, const compile::Compilation& compilation,
               std::vector<Change>& changes) {
  // A model of [[model.layers]] that states no number of stages has a stage for each block.
  const bool blocks = !c.tables("model.layers").empty() && !c.given("execution.stages");
  const bool divides = !blocks && c.tables("stages").empty() && c.texts("execution.cuts").empty() &&
                       c.integers("execution.layers_per_stage").empty();
  if (!divides) return;
  const std::int64_t now = std::max<std::int64_t>(1, c.integer("execution.stages"));
  const auto devices = static_cast<std::int64_t>(compilation.system->devices().size());
  for (const std::int64_t times : {2, 4, 8}) {
    if (now * times <= devices) changes.push_back({"execution.stages", std::to_string(now * times)});
  }
}

/// Everything that could save memory with this configuration.
std::vector<Change> changesOf(const Configuration& c, const compile::Compilation& compilation) {
  std::vector<Change> changes;
  addStages(c, compilation, changes);
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    if (executable.plan.kind == model::ExecutableKind::training) {
      addTraining(c, executable, changes);
    } else if (executable.plan.kind == model::ExecutableKind::inference) {
      addBatches(c, "inference", changes);
    }
  }
  const double proportion = c.real("execution.available_memory_proportion");
  for (const double part : {2.0, 4.0})
    changes.push_back({"execution.available_memory_proportion", fmt::format("{:.3g}", proportion / part)});
  changes.push_back({"execution.partials_type", "float16"});
  constexpr std::int64_t mostIoTiles = 192;
  if (const std::int64_t tiles = c.integer("execution.io_tiles"); tiles > 0 && tiles < mostIoTiles)
    changes.push_back({"execution.io_tiles", std::to_string(std::min(2 * tiles, mostIoTiles))});
  if (c.text("execution.precision") == "float32") {
    for (const char* half : {"float16", "bfloat16"}) changes.push_back({"execution.precision", half});
  } else if (usesFloat8(c)) {
    changes.push_back({"execution.float8_products", "all"});
  } else if (float8SupportOf(c).ok()) {
    changes.push_back({"execution.precision", "float8"});
  }
  return changes;
}

std::int64_t missingOf(const devices::LoweredMemory& memory, const devices::MemorySpaceInfo& space) {
  if (memory.overflow.empty()) return 0;
  std::vector<std::int64_t> units(static_cast<std::size_t>(std::max<std::int64_t>(space.units, 1)));
  for (const devices::UnitBytesRun& run : memory.units) {
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit) {
      if (static_cast<std::size_t>(unit) < units.size())
        units[static_cast<std::size_t>(unit)] += run.bytes.count;
    }
  }
  std::int64_t missing = 0;
  for (const std::int64_t bytes : units)
    missing += std::max<std::int64_t>(0, bytes - space.bytesPerUnit.count);
  // A family may keep a part of its memory for itself.
  return std::max<std::int64_t>(missing, 1);
}

/// Long lists are cut.
std::string shown(const std::string& value) {
  constexpr std::size_t most = 200;
  if (value.size() <= most) return value;
  const auto count = std::ranges::count(value, ',') + 1;
  return value.substr(0, value.find(',')) + fmt::format(", …] with the last results of {} blocks", count);
}

Bytes sumOf(const MissingBytes& missing) {
  Bytes sum;
  for (const auto& [memory, bytes] : missing) sum += bytes;
  return sum;
}

/// Calls `visit` for each memory of all devices of all executables.
template <class Compilation, class Visit>
void forEachMemory(Compilation& compilation, Visit visit) {
  int index = 0;
  for (auto& executable : compilation.executables) {
    for (auto& device : executable.lowered) {
      const devices::DeviceInfo& info =
          compilation.system->devices()[static_cast<std::size_t>(device.device)];
      for (auto& memory : device.memory) {
        const std::array<int, 3> key{index, device.device, memory.space};
        visit(key, memory, info.memory.at(static_cast<std::size_t>(memory.space)));
      }
    }
    ++index;
  }
}

}  // namespace

Bytes FitProposal::all() const {
  return sumOf(missing);
}

std::string FitProposal::text(Bytes before) const {
  const Bytes now = all();
  const std::string effect =
      now.count == 0
          ? "everything fits"
          : fmt::format("saves {}, so that {} of {} are still missing", base::byteText((before - now).count),
                        base::byteText(now.count), base::byteText(before.count));
  return fmt::format("{} = {}: {}.", key, shown(value), effect);
}

MissingBytes bytesMissing(const compile::Compilation& compilation) {
  MissingBytes missing;
  forEachMemory(compilation, [&](const auto& key, const devices::LoweredMemory& memory,
                                 const devices::MemorySpaceInfo& space) {
    missing[key] += Bytes(missingOf(memory, space));
  });
  return missing;
}

std::vector<FitProposal> proposeChanges(const Configuration& configuration,
                                        const compile::Compilation& compilation, base::Executor& executor) {
  const Bytes before = sumOf(bytesMissing(compilation));
  if (before.count == 0) return {};
  const std::vector<Change> changes = changesOf(configuration, compilation);
  std::vector<std::optional<MissingBytes>> after(changes.size());
  executor.parallelFor(changes.size(), [&](std::size_t i) {
    Configuration changed = configuration;
    if (!changed.setText(changes[i].key, changes[i].value, config::Origin::flag).ok()) return;
    if (const auto compiled = compileRun(changed); compiled.ok()) after[i] = bytesMissing(*compiled);
  });
  std::vector<FitProposal> proposals;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (after[i] && sumOf(*after[i]) < before)
      proposals.push_back({changes[i].key, changes[i].value, *after[i]});
  }
  std::ranges::stable_sort(proposals, {}, &FitProposal::all);
  // Of several values of one key only the best is left.
  std::set<std::string> keys;
  std::erase_if(proposals, [&](const FitProposal& proposal) { return !keys.insert(proposal.key).second; });
  return proposals;
}

void addFitAdvice(const Configuration& configuration, compile::Compilation& compilation,
                  base::Executor& executor) {
  const MissingBytes before = bytesMissing(compilation);
  if (sumOf(before).count == 0) return;
  const std::vector<FitProposal> proposals = proposeChanges(configuration, compilation, executor);
  forEachMemory(compilation, [&](const auto& key, devices::LoweredMemory& memory,
                                 const devices::MemorySpaceInfo&) {
    if (memory.overflow.empty()) return;
    constexpr int most = 5;
    int lines = 0;
    for (const FitProposal& proposal : proposals) {
      const auto now = proposal.missing.find(key);
      const bool helps = now == proposal.missing.end() || now->second < before.at(key);
      if (!helps || lines == most) continue;
      memory.overflow.front() += "\n" + proposal.text(sumOf(before));
      ++lines;
    }
    if (lines == 0) {
      memory.overflow.front() +=
          "\nNone of the options that were tried saves memory here: use more stages, or devices with more "
          "memory.";
    }
  });
}

}  // namespace pipescope::app
