#include "app/run/data_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "app/run/model_choice.h"
#include "engine/ops/half.h"

namespace pipescope::app {
namespace {

using base::badInput;
using graph::ElementType;
using graph::Graph;
using graph::TensorType;

bool isWhole(ElementType type) {
  return type == ElementType::int32 || type == ElementType::int64;
}
bool isReal(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Labels are the last input of a graph with a loss that has more than one.
bool lastIsLabels(const Graph& graph) {
  return graph.loss && graph.inputs.size() > 1 &&
         isWhole(graph.tensor(graph.inputs.back()).type.element);
}

/// Rows of the table that an input picks from; 0: nobody picks with it.
std::int64_t tableRows(const Graph& graph, graph::TensorId input) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.op == "Gather" && node.inputs.size() > 1 && node.inputs[1] == input)
      return graph.tensor(node.inputs[0]).type.shape.front();
  }
  return 0;
}

template <class T>
void convert(std::span<const float> from, std::vector<std::byte>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const T value = static_cast<T>(from[i]);
    std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void encode(std::span<const float> from, ElementType type, std::vector<std::byte>& to) {
  const auto count = static_cast<std::int64_t>(from.size());
  to.resize(from.size() * static_cast<std::size_t>(graph::sizeOf(type)));
  if (type == ElementType::float32) std::memcpy(to.data(), from.data(), to.size());
  if (type == ElementType::float16) ops::narrow(from.data(), reinterpret_cast<ops::Float16*>(to.data()), count);
  if (type == ElementType::bfloat16) ops::narrow(from.data(), reinterpret_cast<ops::BFloat16*>(to.data()), count);
  if (type == ElementType::int32) convert<std::int32_t>(from, to);
  if (type == ElementType::int64) convert<std::int64_t>(from, to);
}

base::Status checkInput(const graph::Tensor& tensor, std::int64_t microBatch) {
  if (!isReal(tensor.type.element) && !isWhole(tensor.type.element)) {
    return badInput(fmt::format("Input {} is {}: data sets give real and whole numbers only.", tensor.name,
                                graph::toString(tensor.type)));
  }
  if (tensor.type.elements() % microBatch == 0) return {};
  return badInput(fmt::format("Input {} is {}, which does not divide into {} samples.", tensor.name,
                              graph::toString(tensor.type), microBatch));
}

/// The shape of a row: without axis 0 where that is the micro-batch.
graph::Shape rowShape(const TensorType& type, std::int64_t microBatch) {
  if (!type.shape.empty() && type.shape[0] == microBatch)
    return graph::Shape(type.shape.begin() + 1, type.shape.end());
  const std::int64_t width = type.elements() / microBatch;
  return width == 1 ? graph::Shape() : graph::Shape{width};
}

}  // namespace

base::Result<DataNeeds> dataNeeds(const Graph& graph, std::int64_t microBatch) {
  DataNeeds needs;
  needs.hasLabels = lastIsLabels(graph);
  const std::size_t samples = graph.inputs.size() - (needs.hasLabels ? 1 : 0);
  std::int64_t width = 0;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    PIPESCOPE_TRY(checkInput(tensor, microBatch));
    if (i < samples) width += tensor.type.elements() / microBatch;
  }
  const TensorType& first = graph.tensor(graph.inputs.front()).type;
  needs.sample = samples == 1 ? rowShape(first, microBatch) : graph::Shape{width};
  if (isWhole(first.element)) needs.tokens = std::max<std::int64_t>(2, tableRows(graph, graph.inputs.front()));
  if (needs.hasLabels) needs.label = rowShape(graph.tensor(graph.inputs.back()).type, microBatch);
  if (!graph.loss) return needs;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != "SoftmaxCrossEntropyLoss" && node.op != "NegativeLogLikelihoodLoss") continue;
    needs.classes = graph.tensor(node.inputs[0]).type.shape[1];
  }
  return needs;
}

base::Result<DataNeeds> labelNeeds(const config::Configuration& c) {
  const base::Result<Graph> graph = buildGraph(c, true);
  // What cannot be trained can still be inferred: its labels are one class for each sample.
  if (!graph.ok() || !graph->loss) return DataNeeds();
  return dataNeeds(*graph, c.integer("training.micro_batch_size"));
}

ScoreShape scoreShape(const Graph& graph, std::int64_t microBatch, std::int64_t labelsPerRow) {
  ScoreShape scores;
  if (graph.outputs.empty()) return scores;
  const TensorType& type = graph.tensor(graph.outputs.front()).type;
  if (type.shape.size() < 2 || !isReal(type.element)) return scores;
  scores.labels = microBatch * labelsPerRow;
  scores.element = type.element;
  scores.inner = graph::elementCount(graph::Shape(type.shape.begin() + 2, type.shape.end()));
  if (type.shape[0] * scores.inner == scores.labels) scores.classes = type.shape[1];
  return scores;
}

base::Result<Feeder> Feeder::create(const Graph& graph, const DataNeeds& needs, std::int64_t microBatch,
                                    const data::Dataset& dataset) {
  const graph::TensorType wanted{graph.tensor(graph.inputs.front()).type.element, needs.sample};
  // Several inputs come as one row of numbers; a single one must have its very shape.
  if (needs.sample != dataset.sampleType().shape) {
    return badInput(fmt::format("The model takes samples of {}, but {} has {}.", graph::toString(wanted),
                                dataset.description(), graph::toString(dataset.sampleType())));
  }
  if (needs.hasLabels && graph::elementCount(needs.label) != dataset.labelType().elements()) {
    return badInput(fmt::format("The model takes labels of {}, but {} has {}.",
                                graph::toString({ElementType::int32, needs.label}), dataset.description(),
                                graph::toString(dataset.labelType())));
  }
  Feeder feeder;
  feeder.hasLabels_ = needs.hasLabels;
  feeder.sampleWidth_ = static_cast<std::size_t>(graph::elementCount(needs.sample));
  std::size_t offset = 0;
  for (const graph::TensorId id : graph.inputs) {
    const TensorType& type = graph.tensor(id).type;
    Input input{type.element, static_cast<std::size_t>(type.elements() / microBatch), offset, {}, false};
    offset += input.width;
    input.passed = type.element == ElementType::float32 && input.width == feeder.sampleWidth_;
    feeder.inputs_.push_back(std::move(input));
  }
  if (needs.hasLabels) feeder.inputs_.back().passed = feeder.inputs_.back().element == ElementType::int32;
  feeder.rows_.resize(feeder.inputs_.size());
  return feeder;
}

const numerics::Rows& Feeder::rows(std::span<const float> samples, std::span<const std::int32_t> labels) {
  const std::size_t count = sampleWidth_ == 0 ? 0 : samples.size() / sampleWidth_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    const bool isLabels = hasLabels_ && i + 1 == inputs_.size();
    if (input.passed) {
      rows_[i] = isLabels ? numerics::rowsOf(labels) : numerics::rowsOf(samples);
      continue;
    }
    gathered_.clear();
    if (isLabels) {
      gathered_.assign(labels.begin(), labels.end());
    } else {
      for (std::size_t row = 0; row < count; ++row) {
        const auto part = samples.subspan(row * sampleWidth_ + input.offset, input.width);
        gathered_.insert(gathered_.end(), part.begin(), part.end());
      }
    }
    encode(gathered_, input.element, input.bytes);
    rows_[i] = input.bytes;
  }
  return rows_;
}

}  // namespace pipescope::app
