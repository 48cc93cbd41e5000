#include "engine/onnx/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/onnx/instantiate.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;

bool matches(const std::string& pattern, const std::string& text) {
  // Greedy search that remembers one place to go back to. The time of the search grows with the product of
  // the lengths.
  std::size_t p = 0, t = 0, star = std::string::npos, kept = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      kept = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++kept;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

/// The name without the slash with which PyTorch begins the names of nodes.
std::string bare(const std::string& name) {
  return name.substr(std::min(name.find_first_not_of('/'), name.size()));
}

/// The shortest beginning of the path of a node that fits the pattern of a layer, or "" if none fits.
std::string layerOf(const std::string& pattern, const std::string& node) {
  for (std::size_t end = 0; end <= node.size(); ++end) {
    if (end < node.size() && node[end] != '/') continue;
    if (matches(pattern, node.substr(0, end))) return node.substr(0, end);
  }
  return "";
}

Status checkRule(const BlockRule& rule) {
  if (rule.name.empty()) return badInput("a block of the model has no name: give model.blocks[].name.");
  const int given =
      (rule.nodes.empty() ? 0 : 1) + (rule.prefix.empty() ? 0 : 1) + (rule.matching.empty() ? 0 : 1);
  if (given == 1) return {};
  return badInput(
      fmt::format("block {} has {} of the keys nodes, prefix and matching: give exactly one of them.",
                  rule.name, given == 0 ? "none" : "several"));
}

class Assigner {
 public:
  Assigner(const graph::Graph& graph, const std::vector<BlockRule>& rules)
      : graph_(graph),
        rules_(rules),
        blocks_(graph.nodes().size(), -1),
        byReader_(graph.nodes().size(), false) {}

  Result<std::vector<std::string>> run() {
    for (const BlockRule& rule : rules_) PIPESCOPE_TRY(checkRule(rule));
    findLayers();
    nameBlocks();
    std::vector<bool> used(rules_.size(), false);
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i] = blockOf(graph_.nodes()[i].name, used);
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!used[r])
        return badInput(
            fmt::format("block {} contains no node: none of the model's node names fits it (for example {}).",
                        rules_[r].name, graph_.nodes().empty() ? "" : graph_.nodes().front().name));
    }
    goWithInputs();
    goWithReaders();
    std::vector<std::string> names;
    for (const int block : blocks_) names.push_back(names_[static_cast<std::size_t>(std::max(0, block))]);
    return names;
  }

 private:
  void findLayers() {
    layers_.resize(rules_.size());
    for (const graph::Node& node : graph_.nodes()) {
      for (std::size_t r = 0; r < rules_.size(); ++r) {
        if (rules_[r].matching.empty()) continue;
        const std::string layer = layerOf(bare(rules_[r].matching), bare(node.name));
        if (!layer.empty()) layers_[r].emplace(layer, layers_[r].size());
      }
    }
  }

  /// Numbers blocks in the order of rules and, within a rule, of layers.
  void nameBlocks() {
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      first_.push_back(static_cast<int>(names_.size()));
      if (rules_[r].matching.empty()) {
        names_.push_back(rules_[r].name);
        continue;
      }
      const auto every = static_cast<std::size_t>(std::max<std::int64_t>(1, rules_[r].every));
      const std::size_t count = (layers_[r].size() + every - 1) / every;
      for (std::size_t b = 0; b < count; ++b) names_.push_back(rules_[r].name + std::to_string(b));
    }
  }

  int blockOf(const std::string& named, std::vector<bool>& used) const {
    const std::string node = bare(named);
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      const BlockRule& rule = rules_[r];
      int block = -1;
      if (!rule.matching.empty()) {
        const std::string layer = layerOf(bare(rule.matching), node);
        if (!layer.empty())
          block =
              first_[r] + static_cast<int>(layers_[r].at(layer) /
                                           static_cast<std::size_t>(std::max<std::int64_t>(1, rule.every)));
      } else if (!rule.prefix.empty()) {
        const std::string prefix = bare(rule.prefix);
        if (node == prefix || node.starts_with(prefix + "/")) block = first_[r];
      } else if (std::ranges::any_of(rule.nodes,
                                     [&](const std::string& p) { return matches(bare(p), node); })) {
        block = first_[r];
      }
      if (block < 0) continue;
      used[r] = true;
      return block;
    }
    return -1;
  }

  void goWithInputs() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i] >= 0) continue;
      for (const graph::TensorId input : graph_.nodes()[i].inputs) {
        if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
        blocks_[i] =
            std::max(blocks_[i], blocks_[static_cast<std::size_t>(graph_.tensor(input).producer.value)]);
      }
    }
  }

  void goWithReaders() {
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      const graph::Node& node = graph_.nodes()[i];
      for (const graph::TensorId input : node.inputs) {
        if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
        const auto maker = static_cast<std::size_t>(graph_.tensor(input).producer.value);
        if (blocks_[maker] >= 0 && !(byReader_[maker] && blocks_[i] < blocks_[maker])) continue;
        blocks_[maker] = blocks_[i];
        byReader_[maker] = true;
      }
    }
  }

  const graph::Graph& graph_;
  const std::vector<BlockRule>& rules_;
  std::vector<int> blocks_;     ///< block of each node; −1: not known yet
  std::vector<bool> byReader_;  ///< true for a node whose block comes from a reader
  std::vector<std::map<std::string, std::size_t>> layers_;  ///< number of each layer, for each rule
  std::vector<int> first_;                                  ///< first number of each rule
  std::vector<std::string> names_;
};

}  // namespace

Result<graph::Graph> assignBlocks(const graph::Graph& graph, const std::vector<BlockRule>& rules) {
  std::vector<std::string> blocks(graph.nodes().size(), "model");
  if (!rules.empty()) {
    PIPESCOPE_ASSIGN(blocks, Assigner(graph, rules).run());
  }
  return copyOf(graph, std::vector<bool>(graph.nodes().size(), true), &blocks);
}

}  // namespace pipescope::onnx
