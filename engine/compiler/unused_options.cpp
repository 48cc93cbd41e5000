#include "engine/compiler/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "engine/compiler/pass_savings.h"
#include "engine/compiler/stage_layout.h"
#include "engine/schedules/schedule.h"

namespace pipescope::compile {
namespace {

bool hasOffChip(const Compilation& compilation, TensorUse use) {
  for (const CompiledExecutable& executable : compilation.executables) {
    for (const StageIr& stage : executable.ir.stages) {
      for (const IrTensor& tensor : stage.tensors)
        if (tensor.remote && tensor.use == use) return true;
    }
  }
  return false;
}

/// True if an executable has several places of several replicas, whose chips can lie one way or the other.
bool hasTwoAxes(const Compilation& compilation) {
  return std::ranges::any_of(compilation.executables, [](const CompiledExecutable& executable) {
    std::set<int> places;
    for (const StageIr& stage : executable.ir.stages) places.insert(stage.place);
    return executable.facts.replicas > 1 && places.size() > 1;
  });
}

/// Collects a sentence for each option that was given and has no effect.
class Notes {
 public:
  void add(bool given, const std::string& key, const std::string& why) {
    if (given) notices_.push_back(fmt::format("{} has no effect, because {}.", key, why));
  }
  void say(std::string sentence) { notices_.push_back(std::move(sentence)); }
  std::vector<std::string> take() { return std::move(notices_); }

 private:
  std::vector<std::string> notices_;
};

bool anyExecutable(const Compilation& compilation, const std::function<bool(const CompiledExecutable&)>& is) {
  return std::ranges::any_of(compilation.executables, is);
}

bool isTraining(const CompiledExecutable& executable) {
  return executable.ir.kind == model::ExecutableKind::training;
}

/// Settings of the ranks of a place, where there are no such ranks.
void noteRanks(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const RankRequest& ranks = request.ranks;
  const std::string noContext = "execution.context_parallel is 1";
  notes.add(ranks.context == 1 && !ranks.paired, "execution.context_layout", noContext);
  notes.add(ranks.context == 1 && (ranks.exchangesHeads || ranks.ring), "execution.context_exchange",
            noContext);
  notes.add(ranks.expert == 1 && !ranks.expertLoad.isEven(), "execution.expert_load",
            "execution.expert_parallel is 1");
  for (const devices::FamilySetting& setting : request.systemOptions.settings) {
    const bool experts = setting.name == "expert_exchange" || setting.name == "overlap_experts";
    notes.add(ranks.expert == 1 && experts, "execution." + setting.name, "execution.expert_parallel is 1");
  }
  for (const devices::FamilySetting& setting : request.systemOptions.settings)
    notes.add(setting.name == "overlap_tensor" && !ranks.sequence, "execution.overlap_tensor",
              "execution.sequence_parallel is false");
  notes.add(ranks.placesOutermost && !hasTwoAxes(compilation), "execution.axis_order",
            "there are not both several places and several replicas");
}

/// Notes which settings have no effect because they are for several replicas, and there is only one.
void noteReplicas(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  if (anyExecutable(compilation, [](const CompiledExecutable& each) { return each.facts.replicas > 1; }))
    return;
  const std::string why = "there is one replica";
  notes.add(request.recordAllReplicas, "execution.record_replicas", why);
  const TensorLocations& where = request.locations;
  // Some frameworks divide states without replicas, too. Their key is execution.zero.
  const auto keyOf = [&](const char* key) {
    return request.sharesIfReplicated ? std::string("execution.zero") : std::string("execution.") + key;
  };
  const bool states = where.optimizerState.sharded;
  notes.add(states, keyOf("shard_optimizer"), why);
  if (!states || !request.sharesIfReplicated) {
    notes.add(where.accumulators.sharded, keyOf("shard_accumulators"), why);
    notes.add(where.weights.sharded, keyOf("shard_weights"), why);
  }
  if (!anyExecutable(compilation, isTraining) || request.ranks.width() > 1) return;
  notes.add(!request.update.mergeCollectives, "training.merge_collectives", why);
  notes.add(!request.update.reduceScatter && (states || where.accumulators.sharded || where.weights.sharded),
            "training.reduce_scatter", why);
  notes.add(!request.update.overlapCollectives, "training.overlap_collectives", why);
}

/// Settings of sums of gradients, where an update has a single gradient.
void noteSums(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const auto sums = [](const CompiledExecutable& each) {
    return isTraining(each) && each.facts.microBatches * each.facts.replicas > 1;
  };
  if (!anyExecutable(compilation, isTraining) || anyExecutable(compilation, sums)) return;
  const std::string why = "one micro-batch of one replica makes an update, so that nothing is added up";
  const numerics::SessionOptions& numbers = request.update.numbers;
  const bool narrow = numbers.accumulator != graph::ElementType::float32;
  notes.add(narrow && !keepsGradientBuffers(request.update, *compilation.system), "training.accumulator",
            why);
  notes.add(!numbers.meanGradient, "training.reduction", why);
  notes.add(!narrow && numbers.meanStrategy == numerics::MeanStrategy::running, "training.mean_strategy",
            why);
}

/// Buffers of gradients, where gradients are added up in buffers anyway.
void noteGradientBuffers(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const auto once = [](const CompiledExecutable& each) {
    return isTraining(each) && each.facts.microBatches <= 1;
  };
  if (!anyExecutable(compilation, isTraining) || anyExecutable(compilation, once)) return;
  notes.add(request.update.gradientBuffers.has_value(), "training.gradient_buffers",
            "several micro-batches make an update, so that gradients are added up in buffers");
}

/// True if places do the same one after another. The slots of cycles only say when places wait for each
/// other.
bool ordersAlike(const schedules::Order& order, const schedules::Order& reference) {
  const auto same = [](const clock::Task& a, const clock::Task& b) {
    return a.stage == b.stage && a.microBatch == b.microBatch && a.pass == b.pass && a.joined == b.joined;
  };
  return std::ranges::equal(order.places, reference.places,
                            [&](const auto& a, const auto& b) { return std::ranges::equal(a, b, same); }) &&
         order.stashEntries == reference.stashEntries && order.weightEntries == reference.weightEntries;
}

/// The choice of an order, where one stage computes everything in the order of the usual schedule.
void noteSchedule(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const LayoutRequest& layout = request.layout;
  if (isPhased(layout.strategy)) return;
  const bool pipelined = layout.strategy == Strategy::pipelined;
  if (pipelined && (!layout.scheduleAsked || layout.schedule == LayoutRequest().schedule)) return;
  const auto differs = [](const CompiledExecutable& each) {
    if (each.ir.stages.size() > 1) return true;
    const schedules::Shape shape{.stages = 1,
                                 .microBatches = static_cast<int>(each.facts.microBatches),
                                 .training = isTraining(each),
                                 .placeOfStage = {0}};
    const auto usual = schedules::makeOrder(LayoutRequest().schedule, shape);
    return !usual.ok() || !ordersAlike(each.order, *usual);
  };
  // The two schedules may copy from the host at different times, so the sentence speaks of the order only.
  if (anyExecutable(compilation, differs)) return;
  notes.say(
      fmt::format("{} changes no order, because the model has one stage: its passes run in the same "
                  "sequence as with {}.",
                  pipelined ? "execution.schedule" : "execution.strategy", LayoutRequest().schedule));
}

/// The wish to compute results again, where each is used at once.
void noteRecompute(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  using Mode = RecomputeRequest::Mode;
  const Mode mode = request.recompute.mode;
  if (mode == Mode::automatic || mode == Mode::never || !anyExecutable(compilation, isTraining)) return;
  const bool named = !request.recompute.checkpoints.empty();
  const std::string key = named ? "execution.checkpoints" : "execution.recompute";
  const auto computesAgain = [](const CompiledExecutable& each) {
    return std::ranges::any_of(each.ir.stages, [](const StageIr& stage) {
      return std::ranges::any_of(stage.passes, [](const PassIr& pass) {
        return (pass.pass == model::Pass::recompute && !pass.operators.empty()) ||
               std::ranges::any_of(pass.operators, &IrOperator::again);
      });
    });
  };
  notes.add(!anyExecutable(compilation, computesAgain), key, "no pass has anything to compute again");
}

/// Settings of work and of processes of a host that has none.
void noteHost(const ModelRequest& request, Notes& notes) {
  if (request.inferenceHost) return;
  const emulate::HostModel& host = request.host;
  const bool works = host.secondsPerStep > 0 || host.secondsPerSample > 0 || host.secondsPerCall > 0;
  const bool prepares = host.secondsPerLoad > 0 || host.loaderRate > 0;
  notes.add(host.readsResults && !works, "host.reads_results", "the work of the host takes no time");
  notes.add(host.cores > 0 && !works && !prepares, "host.cores", "the work of the host takes no time");
  notes.add(host.processes > 0 && !works && !prepares && host.memory.count == 0, "host.processes",
            "the work of the host takes no time, and its memory is not stated");
}

/// Notes which settings have no effect because they are for tensors off the chip, and there are none.
void noteLimits(const ModelRequest& request, Notes& notes) {
  const TensorLocations& where = request.locations;
  const TensorLocation places[] = {where.weights, where.optimizerState, where.accumulators,
                                   where.activations};
  const bool offChip = std::ranges::any_of(places, &TensorLocation::offChip),
             sharded = std::ranges::any_of(places, &TensorLocation::sharded);
  notes.add(!offChip && where.weights.leastOffChip != TensorLocation().leastOffChip,
            "execution.offload_least_elements", "nothing is kept off the chip");
  notes.add(!sharded && where.weights.leastSharded != TensorLocation().leastSharded,
            "execution.shard_least_elements", "nothing is shared out among replicas");
  notes.add(!sharded && !request.update.reduceScatter, "training.reduce_scatter",
            "nothing is shared out among replicas");
}

/// The type of partial sums, where nothing is as narrow as that type. Products of wider numbers keep theirs.
void notePartials(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const auto asks = [](const devices::FamilySetting& setting) {
    const std::string* const text = std::get_if<std::string>(&setting.value);
    return setting.name == "partials_type" && text != nullptr && *text == "float16";
  };
  const auto isNarrow = [](const graph::Tensor& tensor) {
    const graph::ElementType type = tensor.type.element;
    return type == graph::ElementType::float16 || type == graph::ElementType::bfloat16 ||
           graph::isFloat8(type);
  };
  const auto holdsNarrow = [&](const CompiledExecutable& each) {
    return each.rankGraph == nullptr || std::ranges::any_of(each.rankGraph->tensors(), isNarrow);
  };
  notes.add(
      std::ranges::any_of(request.systemOptions.settings, asks) && !anyExecutable(compilation, holdsNarrow),
      "execution.partials_type", "products of float32 add up in float32");
}

/// Replicas that share the statistics of batches, where no batch is normalized.
void noteNorms(const ModelRequest& request, const Compilation& compilation, Notes& notes) {
  const auto hasNorm = [](const CompiledExecutable& each) {
    return each.rankGraph != nullptr &&
           std::ranges::any_of(each.rankGraph->nodes(), [](const graph::Node& node) {
             return node.op.find("BatchNorm") != std::string::npos;
           });
  };
  notes.add(request.update.normReplicas > 1 && !anyExecutable(compilation, hasNorm), "training.norm_replicas",
            "the model normalizes no batches");
}

}  // namespace

std::vector<std::string> unusedOptions(const ModelRequest& request, const Compilation& compilation) {
  std::vector<std::string> notices, passes;
  for (const std::string& name : request.passesOff)
    if (!usesPass(*compilation.system, name)) passes.push_back("compile." + name);
  if (!passes.empty())
    notices.push_back(fmt::format("{} {} no effect on system {}, whose framework decides this by itself.",
                                  fmt::join(passes, " and "), passes.size() == 1 ? "has" : "have",
                                  compilation.system->name()));
  Notes notes;
  noteRanks(request, compilation, notes);
  noteReplicas(request, compilation, notes);
  noteSums(request, compilation, notes);
  noteGradientBuffers(request, compilation, notes);
  noteSchedule(request, compilation, notes);
  noteRecompute(request, compilation, notes);
  noteHost(request, notes);
  notePartials(request, compilation, notes);
  noteNorms(request, compilation, notes);
  if (!isPhased(request.layout.strategy)) noteLimits(request, notes);
  for (std::string& notice : notes.take()) notices.push_back(std::move(notice));
  if (isPhased(request.layout.strategy)) return notices;  // it places tensors by itself
  const TensorLocations& where = request.locations;
  const auto note = [&](const TensorLocation& place, TensorUse use, const char* key, const char* what) {
    if (place.offChip && !hasOffChip(compilation, use))
      notices.push_back(
          fmt::format("execution.{} has no effect: there are no {} to keep off the chip.", key, what));
  };
  note(where.weights, TensorUse::weight, "offload_weights", "large weights");
  note(where.optimizerState, TensorUse::optimizerState, "offload_optimizer", "large states of the optimizer");
  note(where.activations, TensorUse::stash, "offload_activations",
       "results that wait for their backward pass");
  note(where.accumulators, TensorUse::accumulator, "offload_accumulators", "large sums of gradients");
  return notices;
}

}  // namespace pipescope::compile
