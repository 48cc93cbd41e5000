#pragma once
// Model and options of a compilation.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/configuration.h"
#include "engine/numerics/instances.h"

namespace pipescope::run {

/// The values of all keys of a configuration (`pipescope run --help-keys` lists them), and optionally an ONNX
/// model in memory. A plain value: copies are independent of each other.
class ModelOptions {
 public:
  /// All defaults. There is no model yet.
  ModelOptions();
  explicit ModelOptions(config::Configuration configuration) : configuration_(std::move(configuration)) {}
  /// Reads a configuration file.
  static base::Result<ModelOptions> read(const std::string& file);
  /// Reads a configuration from text. `name` stands in error sentences for the name of the file.
  static base::Result<ModelOptions> parse(std::string_view toml, const std::string& name);

  /// Sets one key from text, as `--set KEY=VALUE` does: set("training.learning_rate", "0.01").
  base::Status set(std::string_view key, std::string_view value);
  /// Takes values from environment variables such as PIPESCOPE_TRAINING_EPOCHS.
  base::Status useEnvironment();
  /// Takes an ONNX model from memory instead of from the file in model.onnx. `name` stands for it in reports
  /// and error sentences. External data is refused.
  base::Status useModel(const std::string& name, std::shared_ptr<const std::vector<std::byte>> onnx);

  /// If `pipescope poprun` started this process, joins the other instances of the program: all replicas are
  /// emulated, and this process computes its share of them. Otherwise does nothing.
  base::Status joinInstances();
  /// Instances that joinInstances() has joined; null if this process runs alone.
  const std::shared_ptr<const numerics::Instances>& instances() const { return instances_; }

  /// `say` gets the sentence that a model does not fit as soon as it is known, before changes that would help
  /// are tried.
  void sayVerdictTo(std::function<void(const std::string&)> say) { say_ = std::move(say); }
  void sayVerdict(const std::string& sentence) const {
    if (say_ && !sentence.empty()) say_(sentence);
  }

  const config::Configuration& configuration() const { return configuration_; }

 private:
  config::Configuration configuration_;
  std::shared_ptr<const numerics::Instances> instances_;
  std::function<void(const std::string&)> say_;
};

}  // namespace pipescope::run
