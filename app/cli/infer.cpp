// pipescope infer computes an ONNX model on tensors from files. It does not emulate a device.
#include "app/run/execute/infer_model.h"

#include <fmt/format.h>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"

namespace pipescope::cli {
namespace {

struct InferOptions {
  app::InferFiles files;
  std::string model, inputs, outputs;
};

int infer(InferOptions& options) {
  if (options.model.empty() || options.inputs.empty() || options.outputs.empty()) {
    return fail(base::badInput(
        "infer needs a model and two folders: pipescope infer MODEL.onnx --inputs DIR --outputs DIR."));
  }
  options.files.model = options.model;
  options.files.inputs = options.inputs;
  options.files.outputs = options.outputs;
  options.files.rules.advice = kOverwriteAdvice;
  const auto written = app::inferModel(options.files);
  if (!written.ok()) return fail(written.error());
  std::string text;
  for (const app::InferredTensor& tensor : *written)
    text += fmt::format("{}  {}  {}\n", tensor.file.string(), tensor.name, tensor.type);
  return print(text);
}

std::function<int()> setUpInfer(CLI::App& command) {
  auto options = std::make_shared<InferOptions>();
  command.add_option("model", options->model, "Model (ONNX, opset 7 to 17)");
  command.add_option("--inputs", options->inputs, "Folder with input_0.pb, input_1.pb … (ONNX TensorProto)");
  command.add_option("--outputs", options->outputs, "Folder for output_0.pb …; made where it is missing");
  command.add_flag("--overwrite", options->files.rules.overwrite, kOverwriteHelp);
  command.add_option("--threads", options->files.threads, "Host threads; 0: all cores")
      ->check(between(0, 1024))
      ->capture_default_str();
  command.add_option("--seed", options->files.seed, "Seed of random operators")->capture_default_str();
  return [options] { return infer(*options); };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(infer) {
  registry.add({"infer", "Compute an ONNX model on tensors from files, without emulation", setUpInfer,
                "pipescope infer model.onnx --inputs data --outputs results"});
}

}  // namespace pipescope::cli
