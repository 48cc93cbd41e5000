#include "app/cli/plan_frameworks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

#include "profiler/base/number_text.h"

namespace pipescope::cli {
namespace {

/// Role of a layer in a transformer: the embedding before its blocks, a block with its number, or a layer
/// that follows them.
struct TransformerPart {
  enum class Kind { before, block, after } kind = Kind::before;
  std::int64_t number = 0;
};

/// The number that a name ends in: 3 for "encoder/layer3".
std::optional<std::int64_t> numberAtEnd(const std::string& name) {
  std::size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  constexpr std::size_t kMostDigits = 9;
  if (first == name.size() || name.size() - first > kMostDigits) return std::nullopt;
  return base::wholeNumberOf(std::string_view(name).substr(first));
}

/// Refuses layers before the numbered ones, or after them, that lie in several stages or away from the ends.
base::Status checkEnds(const std::string& framework, const std::vector<std::vector<TransformerPart>>& parts) {
  using Kind = TransformerPart::Kind;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    const bool before = s > 0 && std::ranges::count(parts[s], Kind::before, &TransformerPart::kind) > 0;
    const bool after =
        s + 1 < parts.size() && std::ranges::count(parts[s], Kind::after, &TransformerPart::kind) > 0;
    if (!before && !after) continue;
    return base::badInput(fmt::format(
        "--write {} keeps all that {} the numbered layers in the {} stage, but this plan divides it.",
        framework, before ? "comes before" : "follows", before ? "first" : "last"));
  }
  return {};
}

/// The parts of all stages. Refused: layers that are not numbered from 0 without gaps, and checkEnds.
base::Result<std::vector<std::vector<TransformerPart>>> transformerParts(const std::string& framework,
                                                                         const FrameworkSplit& split) {
  std::vector<std::vector<TransformerPart>> parts;
  std::int64_t next = 0;
  bool ended = false;
  for (const std::vector<std::string>& stage : split.layers) {
    parts.emplace_back();
    for (const std::string& layer : stage) {
      const std::optional<std::int64_t> number = numberAtEnd(layer);
      const bool isNext = number == next && !ended;
      if (number && !isNext) {
        return base::badInput(
            fmt::format("--write {} needs a transformer whose layers are numbered from 0 on, but {} stands "
                        "where the one with the number {} should.",
                        framework, layer, next));
      }
      ended = ended || (next > 0 && !number);
      using Kind = TransformerPart::Kind;
      parts.back().push_back({number ? Kind::block : ended ? Kind::after : Kind::before, next});
      if (number) ++next;
    }
  }
  if (next == 0) {
    return base::badInput(fmt::format(
        "--write {} needs a transformer, but no layer of this model has a name that ends in a number.",
        framework));
  }
  PIPESCOPE_TRY(checkEnds(framework, parts));
  return parts;
}

int deviceCountOf(const FrameworkSplit& split) {
  return 1 + *std::ranges::max_element(split.devices);
}

/// True if stage s is on device s mod p, as frameworks lay several stages on each of p devices.
bool isLooped(const FrameworkSplit& split) {
  const auto devices = static_cast<std::size_t>(deviceCountOf(split));
  if (split.devices.size() % devices != 0) return false;
  for (std::size_t s = 0; s < split.devices.size(); ++s)
    if (static_cast<std::size_t>(split.devices[s]) != s % devices) return false;
  return true;
}

/// True if two stages are on each device, there and back.
bool isVee(const FrameworkSplit& split) {
  const auto last = static_cast<int>(split.devices.size()) - 1;
  if (last % 2 == 0) return false;
  for (int s = 0; s <= last; ++s)
    if (split.devices[static_cast<std::size_t>(s)] != std::min(s, last - s)) return false;
  return true;
}

base::Error placementFault(const std::string& framework, const char* rule) {
  return base::badInput(
      fmt::format("--write {0}: {0} {1}, but this plan puts stages elsewhere: plan with schedule 1f1b, for "
                  "example with --set execution.schedule=1f1b.",
                  framework, rule));
}

/// Megatron's layout of stages. Three and more equal ones are written as (t*2|)*3.
std::string layoutOf(const std::vector<std::string>& stages) {
  std::string layout;
  for (std::size_t s = 0; s < stages.size();) {
    std::size_t end = s + 1;
    while (end < stages.size() && stages[end] == stages[s]) ++end;
    // The last stage has no bar behind it.
    const std::size_t equal = end == stages.size() ? end - s - 1 : end - s;
    if (equal > 2) {
      layout += fmt::format("({}|)*{}", stages[s], equal);
      s += equal;
    } else {
      layout += stages[s] + (s + 1 < stages.size() ? "|" : "");
      ++s;
    }
  }
  return layout;
}

/// Source: Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py and its guide "Custom
/// Pipeline Model Parallel Layout". E is the embedding, t a decoder layer, L the loss; a bar separates stages
/// and t*3 means ttt. E must come first and L last, and stage s is on device s mod the pipeline's size.
base::Result<std::string> forMegatron(const FrameworkSplit& split) {
  PIPESCOPE_ASSIGN(const auto parts, transformerParts("megatron", split));
  if (!isLooped(split)) return placementFault("megatron", "puts stage s on device s mod p");
  std::vector<std::string> stages;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    const auto blocks = std::ranges::count(parts[s], TransformerPart::Kind::block, &TransformerPart::kind);
    std::string& stage = stages.emplace_back(s == 0 ? "E" : "");
    if (blocks > 2) stage += fmt::format("t*{}", blocks);
    if (blocks <= 2) stage += std::string(static_cast<std::size_t>(blocks), 't');
    if (s + 1 == parts.size()) stage += 'L';
  }
  std::string options;
  if (split.run) {
    PIPESCOPE_ASSIGN(options, megatronOptions(*split.run));
  }
  const int devices = deviceCountOf(split);
  return fmt::format("{}--pipeline-model-parallel-size {}\n--pipeline-model-parallel-layout \"{}\"\n",
                     options, devices, layoutOf(stages));
}

/// Source: deepspeed/runtime/pipe/module.py, PipelineModule._partition_layers: `parts` holds the first layer
/// of each stage and the number of layers, and _set_bounds takes those of this rank. Stage s runs on pipeline
/// rank s, and no rank has several stages.
base::Result<std::string> forDeepSpeed(const FrameworkSplit& split) {
  if (!isLooped(split) || static_cast<std::size_t>(deviceCountOf(split)) != split.devices.size())
    return placementFault("deepspeed", "puts each stage on a device of its own, in their order");
  std::string options;
  if (split.run) {
    PIPESCOPE_ASSIGN(options, deepSpeedOptions(*split.run));
    if (split.devices.size() == 1) return options;
  }
  std::vector<std::size_t> parts{0};
  std::vector<std::string> names;
  for (const std::vector<std::string>& stage : split.layers) {
    parts.push_back(parts.back() + stage.size());
    names.insert(names.end(), stage.begin(), stage.end());
  }
  return options + fmt::format(
                       "# Use this in the place of PipelineModule. The layers are, in order: {}.\n"
                       "class PlannedPipeline(PipelineModule):\n"
                       "    def _partition_layers(self, method=\"uniform\"):\n"
                       "        self.parts = [{}]\n"
                       "        stage = self._topo.get_coord(self.global_rank).pipe\n"
                       "        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])\n",
                       fmt::join(names, ", "), fmt::join(parts, ", "));
}

/// The schedule of torch.distributed.pipelining that does the same. Empty: there is none.
std::string torchSchedule(const std::string& schedule) {
  if (schedule == "1f1b") return "1F1B";
  if (schedule == "gpipe") return "GPipe";
  if (schedule == "interleaved-1f1b") return "Interleaved1F1B";
  if (schedule == "zb-v") return "ZBVZeroBubble";
  return "";
}

/// Source: torchtitan, torchtitan/config (Parallelism.module_fqns_per_model_part and
/// pipeline_parallel_schedule) and torchtitan/distributed/pipeline_parallel.py, with the module names of its
/// Llama models. Stage s is on rank s mod p, or with V-shaped schedules there and back.
base::Result<std::string> forTorchtitan(const FrameworkSplit& split) {
  PIPESCOPE_ASSIGN(const auto parts, transformerParts("torchtitan", split));
  const std::string schedule = torchSchedule(split.schedule);
  if (!(schedule == "ZBVZeroBubble" ? isVee(split) : isLooped(split)))
    return placementFault("torchtitan", "puts stage s on device s mod p");
  std::string stages;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    std::vector<std::string> modules;
    if (s == 0) modules.emplace_back("tok_embeddings");
    for (const TransformerPart& part : parts[s]) {
      if (part.kind == TransformerPart::Kind::block) modules.push_back(fmt::format("layers.{}", part.number));
    }
    if (s + 1 == parts.size()) modules.insert(modules.end(), {"norm", "output"});
    stages += fmt::format("    [\"{}\"],\n", fmt::join(modules, "\", \""));
  }
  return fmt::format("[parallelism]\npipeline_parallel_degree = {}\n{}module_fqns_per_model_part = [\n{}]\n",
                     deviceCountOf(split),
                     schedule.empty() ? "" : fmt::format("pipeline_parallel_schedule = \"{}\"\n", schedule),
                     stages);
}

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The module of a name path as Python writes it. Names that torch.onnx.export makes begin with a slash and
/// end in the operator's type, and they repeat the name of a module list before its number:
/// "/encoder/encoder.2/dense/MatMul" lies in encoder[2].dense.
std::string pythonPath(const std::string& name) {
  std::vector<std::string> words;
  std::string before;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part.empty()) continue;
    if (!before.empty() && part.starts_with(before + ".")) words.pop_back();
    before = part;
    words.push_back(part);
  }
  if (name.starts_with('/') && words.size() > 1) words.pop_back();
  std::string path;
  std::istringstream all(fmt::format("{}", fmt::join(words, ".")));
  for (std::string word; std::getline(all, word, '.');) {
    if (isNumber(word) && !path.empty()) {
      path += "[" + word + "]";
    } else {
      path += (path.empty() ? "" : ".") + word;
    }
  }
  return path;
}

/// Source: PopTorch's user guide, "Model partitioning using blocks": BeginBlock(layer, user_id, ipu_id) lasts
/// until the next block begins, and what comes before the first one is on IPU 0. Stages are numbered by their
/// IPU; where that does not give their order, AutoStage.AutoIncrement counts the blocks instead.
base::Result<std::string> forPopTorch(const FrameworkSplit& split) {
  if (split.devices.front() != 0) return placementFault("poptorch", "begins on IPU 0");
  std::string text = "# Put your model's names in the place of these.\n";
  const auto devices = static_cast<std::size_t>(deviceCountOf(split));
  if (!isLooped(split) || devices != split.devices.size())
    text += "options.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))\n";
  for (std::size_t s = 0; s < split.starts.size(); ++s) {
    const std::string path = pythonPath(split.starts[s]);
    text += fmt::format("model.{0} = poptorch.BeginBlock(model.{0}, \"stage{1}\", ipu_id={2})\n", path, s + 1,
                        split.devices[s + 1]);
  }
  return text;
}

}  // namespace

std::vector<std::string> frameworkNames() {
  return {"megatron", "deepspeed", "torchtitan", "poptorch"};
}

base::Result<std::string> writeForFramework(const std::string& framework, const FrameworkSplit& split) {
  if (framework == "poptorch") return forPopTorch(split);
  if (split.schedule == "dualpipe")
    return base::badInput(fmt::format(
        "--write {} has no words for schedule dualpipe, under which each device holds the model twice: plan "
        "with another schedule.",
        framework));
  if (split.layers.empty()) {
    return base::badInput(
        fmt::format("--write {} has no words for a stage that ends within a layer, as in this plan: --write "
                    "poptorch has.",
                    framework));
  }
  if (framework == "megatron") return forMegatron(split);
  if (framework == "torchtitan") return forTorchtitan(split);
  return forDeepSpeed(split);
}

}  // namespace pipescope::cli
