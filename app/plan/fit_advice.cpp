#include "app/plan/fit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "app/run/request/compile_run.h"
#include "app/run/request/float8_request.h"
#include "engine/compile/block_pattern.h"
#include "profiler/base/byte_text.h"

namespace pipescope::app {
namespace {

using config::Configuration;

using Bytes = base::Bytes;
using Categories = std::map<std::string, double>;

/// A change that could save memory, and roughly how much, which decides whether it is tried.
struct Change {
  std::string key, value;
  double saving = 0;      ///< bytes of the memories that lack room
  std::size_t order = 0;  ///< among changes of equal effect, the ones that change less come first
};

/// Each change that is tried costs a compilation.
constexpr std::size_t kMostTried = 4;

/// A change that could save less than this share of what is missing is not worth a compilation.
constexpr double kLeastShare = 0.05;

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

/// Estimates what the changes could save, from the bytes by category of the memories that lack room.
class Savings {
 public:
  explicit Savings(const compile::Compilation& compilation) {
    for (const compile::CompiledExecutable& executable : compilation.executables) {
      for (const devices::LoweredDevice& device : executable.lowered) {
        for (const devices::LoweredMemory& memory : device.memory) {
          if (memory.overflow.empty()) continue;
          for (const devices::LoweredVariable& variable : memory.variables)
            categories_[variable.category] += static_cast<double>(variable.bytes.count);
        }
      }
    }
  }
  double of(std::initializer_list<const char*> categories, double share) const {
    double bytes = 0;
    for (const char* category : categories) {
      const auto found = categories_.find(category);
      if (found != categories_.end()) bytes += found->second;
    }
    return share * bytes;
  }
  double ofAll(double share) const {
    double bytes = 0;
    for (const auto& [category, sum] : categories_) bytes += sum;
    return share * bytes;
  }
  /// A share of what the passes of a micro-batch keep and work with.
  double ofMicroBatch(double share) const {
    return of({"stash", "activation", "input", "gradient", "temporary", "workspace", "output"}, share);
  }

 private:
  Categories categories_;
};

void addBatches(const Configuration& c, const std::string& table, const Savings& savings,
                std::vector<Change>& changes) {
  const std::int64_t batch = c.integer(table + ".micro_batch_size");
  if (batch > 1)
    changes.push_back({table + ".micro_batch_size", std::to_string(batch / 2), savings.ofMicroBatch(0.5)});
}

void addTraining(const Configuration& c, const compile::CompiledExecutable& training, const Savings& savings,
                 std::vector<Change>& changes) {
  addBatches(c, "training", savings, changes);
  const double kept = savings.of({"stash", "activation"}, 0.8);
  if (training.facts.recompute == "none") changes.push_back({"execution.recompute", "pipeline", kept});
  if (c.texts("execution.checkpoints").empty() && training.graph) {
    if (std::string ends = endsOfBlocks(*training.graph); !ends.empty())
      changes.push_back({"execution.checkpoints", std::move(ends), kept});
  }
  const double replicas = static_cast<double>(std::max<std::int64_t>(1, training.facts.replicas));
  changes.push_back({"training.accumulator", "float16", savings.of({"accumulator"}, 0.5)});
  changes.push_back({"execution.offload_optimizer", "true", savings.of({"optimizer_state"}, 1)});
  changes.push_back({"execution.offload_activations", "true", savings.of({"stash"}, 1)});
  changes.push_back({"execution.offload_accumulators", "true", savings.of({"accumulator"}, 1)});
  changes.push_back({"execution.shard_optimizer", "true", savings.of({"optimizer_state"}, 1 - 1 / replicas)});
}

/// Ratio of what the memories that lack room must hold to what they have.
double crowdingOf(const compile::Compilation& compilation) {
  double crowding = 1;
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    for (const devices::LoweredDevice& device : executable.lowered) {
      const devices::DeviceInfo& info =
          compilation.system->devices()[static_cast<std::size_t>(device.device)];
      for (const devices::LoweredMemory& memory : device.memory) {
        if (memory.overflow.empty()) continue;
        double held = 0;
        for (const devices::UnitBytesRun& run : memory.units)
          held += static_cast<double>(run.unitCount) * static_cast<double>(run.bytes.count);
        const devices::MemorySpaceInfo& space = info.memory.at(static_cast<std::size_t>(memory.space));
        const double room = static_cast<double>(std::max<std::int64_t>(space.units, 1)) *
                            static_cast<double>(space.bytesPerUnit.count);
        if (room > 0) crowding = std::max(crowding, held / room);
      }
    }
  }
  return crowding;
}

/// Stages that Pipescope divides itself can be more: as many as hold the model if it divides evenly, with a
/// reserve, or as many as there are devices.
void addStages(const Configuration& c, const compile::Compilation& compilation, const Savings& savings,
               std::vector<Change>& changes) {
  // A model of [[model.layers]] that states no number of stages has a stage for each block.
  const bool blocks = !c.tables("model.layers").empty() && !c.given("execution.stages");
  const bool divides = !blocks && c.tables("stages").empty() && c.texts("execution.cuts").empty() &&
                       c.integers("execution.layers_per_stage").empty();
  if (!divides) return;
  const std::int64_t now = std::max<std::int64_t>(1, c.integer("execution.stages"));
  const auto devices = static_cast<std::int64_t>(compilation.system->devices().size());
  constexpr double kReserve = 1.15;
  const auto wanted = static_cast<std::int64_t>(
      std::ceil(std::min(static_cast<double>(now) * crowdingOf(compilation) * kReserve, 1e9)));
  const std::int64_t stages = std::min(std::max(wanted, 2 * now), devices);
  if (stages > now)
    changes.push_back({"execution.stages", std::to_string(stages),
                       savings.ofAll(1 - static_cast<double>(now) / static_cast<double>(stages))});
}

/// The changes with which this configuration could save most memory, the most promising first.
std::vector<Change> changesOf(const Configuration& c, const compile::Compilation& compilation,
                              Bytes missing) {
  const Savings savings(compilation);
  std::vector<Change> changes;
  addStages(c, compilation, savings, changes);
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    if (executable.plan.kind == model::ExecutableKind::training) {
      addTraining(c, executable, savings, changes);
    } else if (executable.plan.kind == model::ExecutableKind::inference) {
      addBatches(c, "inference", savings, changes);
    }
  }
  const double proportion = c.real("execution.available_memory_proportion");
  const double working = savings.of({"temporary"}, 1);
  for (const double part : {2.0, 4.0})
    changes.push_back({"execution.available_memory_proportion", fmt::format("{:.3g}", proportion / part),
                       working * (1 - 1 / part)});
  changes.push_back({"execution.partials_type", "float16", working / 2});
  constexpr std::int64_t mostIoTiles = 192;
  if (const std::int64_t tiles = c.integer("execution.io_tiles"); tiles > 0 && tiles < mostIoTiles)
    changes.push_back({"execution.io_tiles", std::to_string(std::min(2 * tiles, mostIoTiles)),
                       savings.of({"stream_buffer"}, 0.5)});
  if (c.text("execution.precision") == "float32") {
    for (const char* half : {"float16", "bfloat16"})
      changes.push_back({"execution.precision", half, savings.ofAll(0.5)});
  } else if (usesFloat8(c)) {
    changes.push_back({"execution.float8_products", "all", savings.of({"weight"}, 0.5)});
  } else if (float8SupportOf(c).ok()) {
    changes.push_back({"execution.precision", "float8", savings.of({"weight"}, 0.5)});
  }
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].order = i;
  const double least = std::max(1.0, kLeastShare * static_cast<double>(missing.count));
  std::erase_if(changes, [&](const Change& change) { return change.saving < least; });
  std::ranges::stable_sort(changes, std::greater(), &Change::saving);
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
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, shown(value));
  return fmt::format("{}: {}.", text, effect);
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
                                        const compile::Compilation& compilation, base::Executor& executor,
                                        base::Progress& progress) {
  const Bytes before = sumOf(bytesMissing(compilation));
  if (before.count == 0) return {};
  progress.report(
      0, fmt::format("{} of memory are missing: looking for what would help", base::byteText(before.count)));
  // A change that the configuration refuses is refused before anything is compiled, and the next one is tried
  // in its place.
  const std::vector<Change> changes = changesOf(configuration, compilation, before);
  std::vector<std::optional<MissingBytes>> after(changes.size());
  std::size_t tried = 0;
  for (std::size_t first = 0; first < changes.size() && tried < kMostTried && !progress.cancelled();) {
    const std::size_t count = std::min(changes.size() - first, kMostTried - tried);
    std::atomic<std::size_t> compiles = 0;
    executor.parallelFor(count, [&](std::size_t k) {
      const Change& change = changes[first + k];
      Configuration changed = configuration;
      if (progress.cancelled() || !changed.setText(change.key, change.value, config::Origin::flag).ok())
        return;
      const auto compiled = compileRun(changed);
      if (!compiled.ok()) return;
      after[first + k] = bytesMissing(*compiled);
      ++compiles;
    });
    tried += compiles;
    first += count;
  }
  std::map<std::size_t, FitProposal> helping;  // keyed by Change::order
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (after[i] && sumOf(*after[i]) < before)
      helping[changes[i].order] = {{{changes[i].key, changes[i].value}}, *after[i]};
  }
  std::vector<FitProposal> proposals;
  for (auto& [order, proposal] : helping) proposals.push_back(std::move(proposal));
  std::ranges::stable_sort(proposals, {}, &FitProposal::all);
  // Only the best of several values of one key is left.
  std::set<std::string> keys;
  std::erase_if(proposals, [&](const FitProposal& proposal) {
    return !keys.insert(proposal.settings.front().first).second;
  });
  const auto saving = [&](const FitProposal& proposal) {
    return static_cast<double>((before - proposal.all()).count) / static_cast<double>(before.count);
  };
  std::erase_if(proposals, [&](const FitProposal& proposal) { return saving(proposal) < kLeastShare; });
  if (proposals.size() < 2 || proposals.front().all().count == 0 || progress.cancelled()) return proposals;
  // The stages of a model that Pipescope divides itself would be searched once more, which takes longer than
  // all else.
  if (configuration.integer("execution.stages") > 1) return proposals;
  // If no change is enough, all that help together may be.
  FitProposal together;
  Configuration changed = configuration;
  for (const FitProposal& proposal : proposals) {
    const auto& [key, value] = proposal.settings.front();
    if (changed.setText(key, value, config::Origin::flag).ok()) together.settings.emplace_back(key, value);
  }
  const auto compiled = compileRun(changed);
  if (!compiled.ok()) return proposals;
  together.missing = bytesMissing(*compiled);
  if (together.all() < proposals.front().all()) proposals.insert(proposals.begin(), std::move(together));
  return proposals;
}

void addFitAdvice(const Configuration& configuration, compile::Compilation& compilation,
                  base::Executor& executor, base::Progress& progress) {
  const MissingBytes before = bytesMissing(compilation);
  if (sumOf(before).count == 0) return;
  const std::vector<FitProposal> proposals = proposeChanges(configuration, compilation, executor, progress);
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
