#pragma once
// What builders write a graph with: name paths, blocks, weights, and the few layers that all of them share.
#include <string>
#include <vector>

#include "engine/builders/builder.h"

namespace pipescope::builders {

using graph::Shape;
using graph::TensorId;

/// Appends to a graph. The first failure is kept: after it nothing more is added, ids are not valid, and
/// finish() returns it. So builders need no check after every layer.
class ModelWriter {
 public:
  explicit ModelWriter(const BuildContext& context) : context_(context) {}

  /// Names below `path` while it lives.
  class Scope {
   public:
    Scope(ModelWriter& writer, const std::string& path) : writer_(writer), before_(writer.path_) {
      writer_.path_ = writer.pathOf(path);
    }
    ~Scope() { writer_.path_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModelWriter& writer_;
    std::string before_;
  };
  /// Nodes from here on belong to this block.
  void block(const std::string& name) { block_ = name; }

  TensorId input(const std::string& name, graph::TensorType type);
  /// "<path>/<name>".
  TensorId parameter(const std::string& name, Shape shape, graph::Initializer initializer);
  TensorId floats(const std::string& name, Shape shape, const std::vector<float>& values);
  TensorId scalar(const std::string& name, double value) {
    return floats(name, {}, {static_cast<float>(value)});
  }
  TensorId integers(const std::string& name, const std::vector<std::int64_t>& values);
  TensorId constant(const std::string& name, graph::TensorType type, std::vector<std::byte> bytes);

  /// Memory that stays on the device from call to call and has no value before the run: a model that has some
  /// can be emulated, but not computed.
  TensorId resident(const std::string& name, graph::TensorType type) {
    return graph_.addTensor(pathOf(name), std::move(type), graph::TensorRole::constant);
  }
  /// An input below the present path.
  TensorId cacheInput(const std::string& name, graph::TensorType type) {
    return input(pathOf(name), std::move(type));
  }

  /// A node of one output, "<path>/<name>" and "<path>/<name>/out".
  TensorId node(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                graph::Attributes attributes = {});
  std::vector<TensorId> nodes(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                              graph::Attributes attributes, std::size_t outputs);

  TensorId reshape(const std::string& name, TensorId x, const Shape& shape);
  TensorId transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& order);
  /// x·Wᵀ + b of a matrix; the weight is out × in. `initializer` is the weight's; biases start as zeros
  /// unless `uniformBias` is above 0.
  struct Linear {
    std::int64_t outputs = 1;
    bool bias = true;
    graph::Initializer initializer;
    double uniformBias = 0;
  };
  TensorId linear(const std::string& name, TensorId x, const Linear& linear);
  TensorId layerNorm(const std::string& name, TensorId x, double epsilon);
  /// Weight only: x / √(mean of x² + ε) · w.
  TensorId rmsNorm(const std::string& name, TensorId x, double epsilon);
  /// gelu, relu, silu or tanh.
  TensorId activation(const std::string& name, TensorId x, const std::string& kind);
  /// In training and with a ratio above 0; otherwise x itself.
  TensorId dropout(const std::string& name, TensorId x, double ratio);

  /// Adds labels and the mean cross entropy; `scores` are rows × classes × …
  void crossEntropy(TensorId scores, const Shape& labels);
  void output(TensorId id) { graph_.outputs.push_back(id); }
  void moves(const graph::StateUpdate& update) { graph_.stateUpdates.push_back(update); }
  /// Extents of a tensor; {1} after a failure.
  Shape shapeOf(TensorId id) const;
  void fail(std::string sentence);
  base::Result<graph::Graph> finish();

  const BuilderSettings& settings() const { return context_.settings; }
  std::int64_t microBatch() const { return context_.request.microBatch; }
  bool training() const { return context_.request.training; }

 private:
  std::string pathOf(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }

  BuildContext context_;
  graph::Graph graph_;
  std::string path_, block_;
  base::Status status_;
};

}  // namespace pipescope::builders
