#pragma once
// The tool that builders write a graph with: name paths, blocks, weights, and the layers that several
// builders share.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/builders/builder.h"

namespace pipescope::builders {

using graph::Shape;
using graph::TensorId;

/// Appends to a graph. After the first failure nothing more is added, all ids are invalid and finish()
/// returns the error, so that builders need not check after every layer.
class ModelWriter {
 public:
  explicit ModelWriter(const BuildContext& context) : context_(context) {}

  /// Puts all names below `path` for its lifetime.
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
  /// Ends the names of all nodes and constants with "/part<index>" for its lifetime. Weights keep their
  /// names, so that parts which are written one after another share them.
  class Part {
   public:
    Part(ModelWriter& writer, std::size_t index) : writer_(writer) {
      writer_.suffix_ = "/part" + std::to_string(index);
    }
    ~Part() { writer_.suffix_.clear(); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    ModelWriter& writer_;
  };
  /// Sets the block of all following nodes.
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
  /// A constant whose bytes are made when numbers are computed.
  TensorId laterConstant(const std::string& name, graph::TensorType type,
                         std::function<std::vector<std::byte>()> make,
                         graph::Constant::Pattern pattern = graph::Constant::Pattern::none);

  /// Memory that stays on the device between calls and has no value before the run. A model with such memory
  /// can be emulated, but not computed.
  TensorId resident(const std::string& name, graph::TensorType type) {
    return graph_.addTensor(nameOf(name), std::move(type), graph::TensorRole::constant);
  }
  /// Adds an input whose name lies below the current path.
  TensorId cacheInput(const std::string& name, graph::TensorType type) {
    return input(pathOf(name), std::move(type));
  }

  /// Adds the node "<path>/<name>" with the one output "<path>/<name>/out".
  TensorId node(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                graph::Attributes attributes = {});
  std::vector<TensorId> nodes(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                              graph::Attributes attributes, std::size_t outputs);

  TensorId reshape(const std::string& name, TensorId x, const Shape& shape);
  TensorId transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& order);
  /// Computes x·Wᵀ + b for a matrix x. The weight is outputs × inputs and starts from `initializer`. Biases
  /// start as zeros unless `uniformBias` is above 0.
  struct Linear {
    std::int64_t outputs = 1;
    bool bias = true;
    graph::Initializer initializer;
    double uniformBias = 0;
  };
  TensorId linear(const std::string& name, TensorId x, const Linear& linear);
  TensorId layerNorm(const std::string& name, TensorId x, double epsilon);
  /// Normalises without a bias: x / √(mean of x² + ε) · w.
  TensorId rmsNorm(const std::string& name, TensorId x, double epsilon);
  /// Adds an activation: gelu, relu, silu or tanh.
  TensorId activation(const std::string& name, TensorId x, const std::string& kind);
  /// Returns x itself outside training or if the ratio is 0.
  TensorId dropout(const std::string& name, TensorId x, double ratio);

  /// Adds the input "labels" and the mean cross entropy. `scores` are rows × classes × …. A scalar `more` is
  /// added to the loss.
  void crossEntropy(TensorId scores, const Shape& labels, TensorId more = {});
  void output(TensorId id) { graph_.outputs.push_back(id); }
  void moves(const graph::StateUpdate& update) { graph_.stateUpdates.push_back(update); }
  /// Extents of a tensor, or {1} after a failure.
  Shape shapeOf(TensorId id) const;
  void fail(std::string sentence);
  base::Result<graph::Graph> finish();

  const BuilderSettings& settings() const { return context_.settings; }
  std::int64_t microBatch() const { return context_.request.microBatch; }
  bool training() const { return context_.request.training; }

 private:
  std::string pathOf(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }

  std::string nameOf(const std::string& name) const { return pathOf(name) + suffix_; }

  BuildContext context_;
  graph::Graph graph_;
  std::string path_, block_, suffix_;
  std::map<std::string, TensorId> shared_;  // weights that parts have, by name
  base::Status status_;
};

}  // namespace pipescope::builders
