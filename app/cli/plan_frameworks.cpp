#include "app/cli/plan_frameworks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace pipescope::cli {
namespace {

/// What a layer is in a transformer: the embedding before its blocks, a block with its number, or what
/// follows them.
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
  return std::stoll(name.substr(first));
}

/// The parts of all stages. Refused: layers that are not numbered from 0 without gaps.
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
  return parts;
}

/// docs.nvidia.com/megatron-core, "Custom Pipeline Model Parallel Layout": E embedding, t decoder layer, L
/// loss; a bar between stages, t*3 for ttt.
base::Result<std::string> forMegatron(const FrameworkSplit& split) {
  PIPESCOPE_ASSIGN(const auto parts, transformerParts("megatron", split));
  std::string layout;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    if (s > 0) layout += '|';
    const auto count = [&](TransformerPart::Kind kind) {
      return std::ranges::count(parts[s], kind, &TransformerPart::kind);
    };
    const auto blocks = count(TransformerPart::Kind::block);
    if (s == 0) layout += 'E';
    if (blocks > 2) layout += fmt::format("t*{}", blocks);
    if (blocks <= 2) layout += std::string(static_cast<std::size_t>(blocks), 't');
    if (s + 1 == parts.size()) layout += 'L';
  }
  const int devices = 1 + *std::ranges::max_element(split.devices);
  return fmt::format("--pipeline-model-parallel-size {}\n--pipeline-model-parallel-layout \"{}\"\n", devices,
                     layout);
}

/// deepspeed/runtime/pipe/module.py: PipelineModule.parts holds the first layer of each stage and the number
/// of layers.
std::string forDeepSpeed(const FrameworkSplit& split) {
  std::vector<std::size_t> parts{0};
  std::vector<std::string> names;
  for (const std::vector<std::string>& stage : split.layers) {
    parts.push_back(parts.back() + stage.size());
    names.insert(names.end(), stage.begin(), stage.end());
  }
  return fmt::format(
      "# Assign this in PipelineModule._partition_layers. The layers are, in order: {}.\nself.parts = [{}]\n",
      fmt::join(names, ", "), fmt::join(parts, ", "));
}

/// torchtitan's parallelism.module_fqns_per_model_part, with the module names of its Llama models.
base::Result<std::string> forTorchtitan(const FrameworkSplit& split) {
  PIPESCOPE_ASSIGN(const auto parts, transformerParts("torchtitan", split));
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
  const int devices = 1 + *std::ranges::max_element(split.devices);
  return fmt::format("[parallelism]\npipeline_parallel_degree = {}\nmodule_fqns_per_model_part = [\n{}]\n",
                     devices, stages);
}

/// PopTorch's user guide, "Multi-IPU execution strategies": a block goes on until the next one begins.
std::string forPopTorch(const FrameworkSplit& split) {
  std::string text = "# Put your model's names in the place of these.\n";
  for (std::size_t s = 0; s < split.starts.size(); ++s) {
    std::string name = split.starts[s];
    std::ranges::replace(name, '/', '.');
    text += fmt::format("model.{} = poptorch.BeginBlock(model.{}, \"stage{}\", ipu_id={})\n", name, name,
                        s + 1, split.devices[s + 1]);
  }
  return text;
}

}  // namespace

std::vector<std::string> frameworkNames() {
  return {"megatron", "deepspeed", "torchtitan", "poptorch"};
}

base::Result<std::string> writeForFramework(const std::string& framework, const FrameworkSplit& split) {
  if (framework == "poptorch") return forPopTorch(split);
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
