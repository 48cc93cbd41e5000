#include "app/plan/fit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

#include "app/run/request/compile_run.h"
#include "app/run/request/float8_request.h"
#include "engine/compile/block_pattern.h"
#include "engine/plan/model_trials.h"
#include "profiler/base/byte_text.h"

namespace pipescope::app {
namespace {

using config::Configuration;

using Bytes = base::Bytes;
using Categories = std::map<std::string, double>;

/// A change that could save memory, and roughly how much, which decides whether it is tried.
struct Change {
  std::string key, value;
  double saving = 0;                                           ///< bytes of the memories that lack room
  std::vector<std::pair<std::string, std::string>> also = {};  ///< settings that go with it
  std::size_t order = 0;  ///< among changes of equal effect, the ones that change less come first
};

/// The number of changes that are tried: of a model whose stages were searched, and of one that a single
/// compilation was enough for.
constexpr std::size_t kMostTried = 4, kMostTriedOfOne = 3;

/// A change that could save less than this share of what is missing is not worth a compilation.
constexpr double kLeastShare = 0.05;

constexpr const char* kAccumulation = "training.gradient_accumulation";

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

/// Optimizers keep their moments or their velocity in 16 bits on request. Master weights stay in 32.
void addMoments(const Configuration& c, const Savings& savings, std::vector<Change>& changes) {
  Change halved;
  double count = 0;
  for (const char* key : {"training.half_moment1", "training.half_moment2", "training.half_velocity"}) {
    if (!c.applies(key)) continue;
    ++count;
    if (c.boolean(key)) continue;
    if (halved.key.empty())
      halved.key = key, halved.value = "true";
    else
      halved.also.emplace_back(key, "true");
  }
  if (halved.key.empty()) return;
  const double all = count + (c.boolean("training.master_weights") ? 1 : 0),
               some = 1 + static_cast<double>(halved.also.size());
  halved.saving = savings.of({"optimizer_state"}, some / all / 2);
  changes.push_back(std::move(halved));
}

void addTraining(const Configuration& c, const compile::CompiledExecutable& training, const Savings& savings,
                 std::vector<Change>& changes) {
  addBatches(c, "training", savings, changes);
  const double kept = savings.of({"stash", "activation"}, 0.8);
  // A single stage has nothing to recompute.
  if (training.facts.recompute == "none" && training.ir.stages.size() > 1)
    changes.push_back({"execution.recompute", "pipeline", kept});
  if (c.texts("execution.checkpoints").empty() && training.graph) {
    if (std::string ends = endsOfBlocks(*training.graph); !ends.empty())
      changes.push_back({"execution.checkpoints", std::move(ends), kept});
  }
  const double replicas = static_cast<double>(std::max<std::int64_t>(1, training.facts.replicas));
  changes.push_back({"training.accumulator", "float16", savings.of({"accumulator"}, 0.5)});
  addMoments(c, savings, changes);
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
    if (executable.ir.kind == model::ExecutableKind::training) {
      addTraining(c, executable, savings, changes);
    } else if (executable.ir.kind == model::ExecutableKind::inference) {
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
  } else if (usesFloat4(c) || c.text("execution.float8_scaling") == "blocks") {
    // Products of two activations have no blocks, and weights keep their 16 bits.
  } else if (usesFloat8(c)) {
    changes.push_back({"execution.float8_products", "all", savings.of({"weight"}, 0.5)});
  } else if (float8SupportOf(c).ok()) {
    changes.push_back({"execution.precision", "float8", savings.of({"weight"}, 0.5)});
  }
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].order = i;
  const double least = std::max(1.0, kLeastShare * static_cast<double>(missing.count));
  const bool offChip =
      std::ranges::any_of(compilation.system->devices().front().memory,
                          [](const auto& space) { return space.kind == "streaming_memory"; });
  std::erase_if(changes, [&](const Change& change) {
    return change.saving < least || (!offChip && change.key.starts_with("execution.offload_"));
  });
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

/// True if a key can change what an executable of this kind holds.
bool concerns(const std::string& key, model::ExecutableKind kind) {
  static const std::set<std::string> kOfTraining{
      "execution.recompute",           "execution.checkpoints",          "execution.offload_optimizer",
      "execution.offload_activations", "execution.offload_accumulators", "execution.shard_optimizer"};
  const bool training = kind == model::ExecutableKind::training;
  if (key.starts_with("training.") || kOfTraining.contains(key)) return training;
  return !training || !key.starts_with("inference.");
}

/// Changes the number of micro-batches along with that of the stages, if nobody states it: a run fills its
/// stages with twice as many (withModelDefaults).
base::Status followStages(const Configuration& before, Configuration& changed) {
  const std::int64_t now = changed.integer("execution.stages"), was = before.integer("execution.stages");
  for (const char* key : {kAccumulation, "inference.device_iterations"}) {
    if (now != was && before.origin(key) == config::Origin::derived && before.integer(key) == 2 * was)
      PIPESCOPE_TRY(changed.replace(key, 2 * now));
  }
  return {};
}

/// Tries changes of a configuration, side by side where there are several.
class Trials {
 public:
  Trials(const Configuration& configuration, const compile::Compilation& compilation,
         plan::SharedStages& known, base::Executor& executor, base::Progress& progress)
      : configuration_(configuration),
        before_(bytesMissing(compilation)),
        trials_(compilation, known),
        executor_(executor),
        progress_(progress) {}

  Bytes before() const { return sumOf(before_); }

  /// The first changes that the configuration does not refuse, at most so many, one for each key.
  std::vector<FitProposal> tryEach(const std::vector<Change>& changes, std::size_t most) {
    std::map<std::size_t, FitProposal> helping;  // by Change::order
    std::set<std::string> keys;
    std::vector<bool> seen(changes.size(), false);
    while (!progress_.cancelled()) {
      const std::vector<std::size_t> next = nextOf(changes, keys, seen, most);
      if (next.empty()) break;
      std::vector<std::optional<FitProposal>> made(next.size());
      executor_.parallelFor(next.size(), [&](std::size_t k) {
        const Change& change = changes[next[k]];
        base::SerialExecutor serial;
        std::vector<std::pair<std::string, std::string>> settings = change.also;
        settings.emplace(settings.begin(), change.key, change.value);
        made[k] = tryAll(settings, serial);
        if (!made[k] && change.key == "execution.stages") made[k] = tryLonger(change.value, serial);
      });
      for (std::size_t k = 0; k < next.size(); ++k) {
        const Change& change = changes[next[k]];
        if (!made[k]) continue;
        keys.insert(change.key);
        if (made[k]->all() < before()) helping[change.order] = *std::move(made[k]);
      }
    }
    std::vector<FitProposal> proposals;
    for (auto& [order, proposal] : helping) proposals.push_back(std::move(proposal));
    std::ranges::stable_sort(proposals, {}, &FitProposal::all);
    return proposals;
  }

  /// None: the configuration or the compiler refuses it, or the user stops the search.
  std::optional<FitProposal> tryAll(const std::vector<std::pair<std::string, std::string>>& settings) {
    return tryAll(settings, executor_);
  }
  std::optional<FitProposal> tryAll(const std::vector<std::pair<std::string, std::string>>& settings,
                                    base::Executor& executor) {
    if (progress_.cancelled()) return std::nullopt;
    Configuration changed = configuration_;
    for (const auto& [key, value] : settings) {
      if (!changed.setText(key, value, config::Origin::flag).ok()) return std::nullopt;
    }
    if (!followStages(configuration_, changed).ok()) return std::nullopt;
    base::Result<compile::ModelRequest> request = requestOfRun(changed);
    if (!request.ok()) return std::nullopt;
    // The first executable decides where stages begin. Others that no change concerns stay as they are.
    std::vector<int> compiled{0};
    std::vector<compile::ExecutableRequest>& all = request->executables;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const auto does = [&](const auto& setting) { return concerns(setting.first, all[i].kind); };
      if (std::ranges::any_of(settings, does)) compiled.push_back(static_cast<int>(i));
    }
    for (std::size_t i = 1; i < compiled.size(); ++i) all[i] = all[static_cast<std::size_t>(compiled[i])];
    all.resize(compiled.size());
    const auto result = trials_.compile(*std::move(request), executor);
    report();
    if (!result.ok()) return std::nullopt;
    FitProposal proposal{settings, before_};
    std::erase_if(proposal.missing,
                  [&](const auto& each) { return std::ranges::count(compiled, each.first[0]) > 0; });
    for (const auto& [memory, bytes] : bytesMissing(*result))
      proposal.missing[{compiled[static_cast<std::size_t>(memory[0])], memory[1], memory[2]}] = bytes;
    return proposal;
  }

 private:
  /// Schedules refuse more stages where too few micro-batches fill the pipeline: tries the stages with the
  /// smallest multiple of the micro-batches that any schedule accepts.
  std::optional<FitProposal> tryLonger(const std::string& stages, base::Executor& executor) {
    const std::int64_t needed = 2 * std::max(1LL, std::atoll(stages.c_str())) - 1,
                       now = std::max<std::int64_t>(1, configuration_.integer(kAccumulation));
    if (now >= needed) return std::nullopt;
    const std::int64_t longer = now * ((needed + now - 1) / now);
    return tryAll({{"execution.stages", stages}, {kAccumulation, std::to_string(longer)}}, executor);
  }

  /// The changes that are tried next: of keys of which none has been compiled, as many as may still be tried.
  std::vector<std::size_t> nextOf(const std::vector<Change>& changes, const std::set<std::string>& keys,
                                  std::vector<bool>& seen, std::size_t most) const {
    std::set<std::string> chosen = keys;
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < changes.size() && chosen.size() < most; ++i) {
      if (seen[i] || !chosen.insert(changes[i].key).second) continue;
      seen[i] = true;
      next.push_back(i);
    }
    return next;
  }

  void report() {
    const std::lock_guard lock(mutex_);
    progress_.report(0, fmt::format("trying what would help: {} tried", ++tried_));
  }

  const Configuration& configuration_;
  const MissingBytes before_;
  plan::ModelTrials trials_;
  base::Executor& executor_;
  base::Progress& progress_;
  std::mutex mutex_;
  std::size_t tried_ = 0;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Leaves out what hardly helps. The proposals go from the largest effect to the smallest.
void keepHelpful(std::vector<FitProposal>& proposals, Bytes before) {
  std::erase_if(proposals, [&](const FitProposal& proposal) {
    const auto saved = static_cast<double>((before - proposal.all()).count);
    return saved < kLeastShare * static_cast<double>(before.count);
  });
  std::ranges::stable_sort(proposals, {}, &FitProposal::all);
}

/// Tries so many changes, and where none of them is enough, those that help together.
std::vector<FitProposal> triedProposals(Trials& trials, const std::vector<Change>& changes,
                                        std::size_t most) {
  std::vector<FitProposal> proposals = trials.tryEach(changes, most);
  keepHelpful(proposals, trials.before());
  if (proposals.size() < 2 || proposals.front().all().count == 0) return proposals;
  Pairs all;
  for (const FitProposal& proposal : proposals)
    all.insert(all.end(), proposal.settings.begin(), proposal.settings.end());
  std::optional<FitProposal> together = trials.tryAll(all);
  if (together && together->all() < proposals.front().all())
    proposals.insert(proposals.begin(), *std::move(together));
  return proposals;
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

std::string verdictOf(const compile::Compilation& compilation) {
  const Bytes missing = sumOf(bytesMissing(compilation));
  if (missing.count == 0) return "";
  return fmt::format("The model does not fit: {} of memory are missing.", base::byteText(missing.count));
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
                                        const compile::Compilation& compilation, plan::SharedStages& known,
                                        base::Executor& executor, base::Progress& progress) {
  Trials trials(configuration, compilation, known, executor, progress);
  const Bytes before = trials.before();
  if (before.count == 0) return {};
  const std::vector<Change> changes = changesOf(configuration, compilation, before);
  // The search for stages took several compilations, so that one more costs little beside it.
  return triedProposals(trials, changes, known.lastSplit() != nullptr ? kMostTried : kMostTriedOfOne);
}

void addFitAdvice(const Configuration& configuration, compile::Compilation& compilation,
                  plan::SharedStages& known, base::Executor& executor, base::Progress& progress) {
  const MissingBytes before = bytesMissing(compilation);
  if (sumOf(before).count == 0) return;
  known.setProgress(&progress);
  const std::vector<FitProposal> proposals =
      proposeChanges(configuration, compilation, known, executor, progress);
  known.setProgress(nullptr);
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
    if (lines > 0) return;
    memory.overflow.front() +=
        progress.cancelled() ? "\nThe search for what would save memory was stopped."
                             : "\nNone of the options that were tried saves memory here: use more stages, or "
                               "devices with more memory.";
  });
}

}  // namespace pipescope::app
