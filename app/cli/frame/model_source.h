#pragma once
// Reads the input of commands that search, vary or run a model: a configuration, a model from a file, or a
// model by its builder's name.
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/configuration.h"

namespace CLI {
class App;
}

namespace pipescope::cli {

struct ModelSource {
  std::string file;     ///< configuration (TOML) or model (ONNX); empty if a builder makes the model
  std::string builder;  ///< --builder
  std::string system;   ///< --system
  bool training = false, inference = false;  ///< --training, --inference
  std::vector<std::string> settings;         ///< --set KEY=VALUE

  bool empty() const { return file.empty() && builder.empty(); }
  /// The name that reports show: that of the file, or else of the builder.
  const std::string& name() const { return file.empty() ? builder : file; }
};

/// Declares --training and --inference, which say what runs.
void addModeFlags(CLI::App& command, bool& training, bool& inference);
/// Sets the mode that a flag asks for.
base::Status applyMode(bool training, bool inference, config::Configuration& configuration);

/// Declares --builder, --system, --training, --inference and --set. Each command must declare the argument
/// for the file too, because its help text differs from command to command.
void addModelOptions(CLI::App& command, ModelSource& source);

/// Reads a configuration or an ONNX file. Without a file it is empty.
base::Result<config::Configuration> readConfigurationOrNone(const std::string& file);
/// A model without a name is called after its file or its builder.
/// Error: there is no model at all; `command` is named then.
base::Status nameModel(const std::string& file, std::string_view command,
                       config::Configuration& configuration);

/// The configuration with the environment, and with the flags, which outrank it.
base::Result<config::Configuration> configurationOf(const ModelSource& source, std::string_view command);

}  // namespace pipescope::cli
