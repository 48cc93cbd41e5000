#include "engine/config/key.h"

namespace pipescope::config {
namespace {

using Texts = std::vector<std::string>;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Key text(std::string path, std::string fallback, std::string help, Texts flags = {}, Texts choices = {}) {
  return {std::move(path), KeyType::text, "",       Value(std::move(fallback)),
          std::move(help), -kNoLimit,     kNoLimit, std::move(choices),
          std::move(flags)};
}
Key integer(std::string path, std::string unit, std::int64_t fallback, double least, double most,
            std::string help, Texts flags = {}) {
  return {
      std::move(path), KeyType::integer, std::move(unit), Value(fallback), std::move(help), least, most, {},
      std::move(flags)};
}
Key real(std::string path, std::string unit, double fallback, double least, double most, std::string help,
         Texts flags = {}) {
  return {std::move(path), KeyType::real, std::move(unit), Value(fallback), std::move(help), least, most, {},
          std::move(flags)};
}
Key boolean(std::string path, bool fallback, std::string help, Texts flags = {}) {
  return {std::move(path), KeyType::boolean, "", Value(fallback), std::move(help),
          -kNoLimit,       kNoLimit,         {}, std::move(flags)};
}
Key required(Key key) {
  key.required = true;
  return key;
}

void addModel(std::vector<Key>& all) {
  all.push_back(text("model.name", "model", "Name of the model in reports."));
  all.push_back({"model.input", KeyType::integers, "", Value(std::vector<std::int64_t>()),
                 "Shape of one sample, e.g. [1, 28, 28]; empty: 1x28x28 for mnist.", 1, 1e9});
  all.push_back(
      required(text("model.layers[].type", "", "Layer type: conv, maxpool, relu, flatten or linear.")));
  all.push_back(
      required(text("model.layers[].name", "", "Name path of the layer, e.g. layer1/conv; unique.")));
  all.push_back(required(text("model.layers[].block", "", "Block the layer belongs to, e.g. B1.")));
  constexpr double kMost = 1e6;
  all.push_back(integer("model.layers[].in_channels", "", 0, 0, kMost,
                        "conv: input channels; 0: from the layer before."));
  all.push_back(integer("model.layers[].out_channels", "", 0, 0, kMost, "conv: filters."));
  all.push_back(
      integer("model.layers[].kernel_size", "", 0, 0, kMost, "conv, maxpool: edge of the square window."));
  all.push_back(integer("model.layers[].stride", "", 0, 0, kMost,
                        "conv, maxpool: step of the window; 0: 1 for conv, kernel_size for maxpool."));
  all.push_back(
      integer("model.layers[].padding", "", 0, 0, kMost, "conv, maxpool: zeros added on every side."));
  all.push_back(
      integer("model.layers[].in_features", "", 0, 0, 1e9, "linear: inputs; 0: from the layer before."));
  all.push_back(integer("model.layers[].out_features", "", 0, 0, 1e9, "linear: outputs."));
}

void addStages(std::vector<Key>& all) {
  all.push_back({"stages[].blocks",
                 KeyType::texts,
                 "",
                 Value(Texts()),
                 "Blocks of this stage, in order.",
                 -kNoLimit,
                 kNoLimit,
                 {},
                 {},
                 true});
  all.push_back(
      integer("stages[].device", "", -1, -1, 4095, "Device that holds the stage; −1: the stage's position."));
}

void addExecution(std::vector<Key>& all) {
  all.push_back(text("execution.strategy", "pipelined", "How stages share the work.", {"strategy"},
                     {"pipelined", "sharded"}));
  all.push_back(text("execution.schedule", "popart",
                     "Order of micro-batches in pipelined execution; `pipescope schedule` shows them. "
                     "Sharded execution has its own.",
                     {"schedule"}));
  all.push_back(text("execution.recompute", "auto",
                     "What a backward pass computes again: pipeline keeps stage inputs only, none keeps "
                     "every activation; auto is "
                     "pipeline for pipelined training of more than one stage, otherwise none.",
                     {"recompute"}, {"auto", "pipeline", "none"}));
  all.push_back(boolean("execution.numerics", true, "Compute real numbers; without, only time and memory.",
                        {"numerics"}));
  all.push_back(text("execution.mode", "all", "What to run: both, or only training or inference.", {"mode"},
                     {"all", "training", "inference"}));
  all.push_back(integer("execution.seed", "", 42, 0, 9007199254740992.0,
                        "Seed of weights, shuffling and every random number.", {"seed"}));
  all.push_back(integer("execution.threads", "", 0, 0, 1024, "Host threads; 0: all cores.", {"threads"}));
  all.push_back(
      text("execution.record", "steps",
           "What the profile holds: off (summary facts only), stages (placements without steps), steps.",
           {"record"}, {"off", "stages", "steps"}));
  all.push_back(boolean("execution.require_fit", false,
                        "End with status 1 if the model does not fit in memory.", {"require-fit"}));
}

void addTraining(std::vector<Key>& all) {
  all.push_back(integer("training.micro_batch_size", "samples", 1, 1, 1e6, "Samples of one micro-batch.",
                        {"micro-batch-size", "batch-size"}));
  all.push_back(integer("training.gradient_accumulation", "micro-batches", 1, 1, 1e6,
                        "Micro-batches whose gradients are averaged before one weight update.",
                        {"gradient-accumulation"}));
  all.push_back(integer("training.device_iterations", "", 1, 1, 1e6, "Weight updates per call from the host.",
                        {"device-iterations"}));
  all.push_back(integer("training.epochs", "", 1, 1, 1e6, "Passes over the training data.", {"epochs"}));
  all.push_back(text("training.loss", "cross_entropy", "Loss at the end of the last block.", {"loss"},
                     {"cross_entropy"}));
  all.push_back(text("training.optimizer", "adamw", "Weight update rule.", {"optimizer"}, {"adamw", "sgd"}));
  all.push_back(
      real("training.learning_rate", "", 1e-3, 0, 1e6, "Step of the optimizer.", {"learning-rate"}));
  all.push_back(real("training.weight_decay", "", 0, 0, 1e6,
                     "Decay of the weights; not given: the optimizer's own default (adamw 0.01, sgd 0).",
                     {"weight-decay"}));
  all.push_back(real("training.momentum", "", 0, 0, 0.9999999, "sgd: share of the velocity that is kept.",
                     {"momentum"}));
  all.push_back(real("training.beta1", "", 0.9, 0, 0.9999999, "adamw: decay of the first moment."));
  all.push_back(real("training.beta2", "", 0.999, 0, 0.9999999, "adamw: decay of the second moment."));
  all.push_back(real("training.epsilon", "", 1e-8, 0, 1, "adamw: added to the root of the second moment."));
  all.push_back(text(
      "training.output_mode", "final",
      "Micro-batches whose losses and predictions a call returns: all, final (the last), sum or every_n.",
      {"output-mode"}, {"all", "final", "sum", "every_n"}));
  all.push_back(
      integer("training.output_period", "micro-batches", 1, 1, 1e6, "every_n: period.", {"output-period"}));
  all.push_back(boolean("training.shuffle", true, "New order of the samples in each epoch.", {"shuffle"}));
}

void addInference(std::vector<Key>& all) {
  all.push_back(integer("inference.micro_batch_size", "samples", 1, 1, 1e6, "Samples of one micro-batch.",
                        {"inference-micro-batch-size", "test-batch-size"}));
  all.push_back(integer("inference.device_iterations", "", 1, 1, 1e6,
                        "Micro-batches per call; the pipeline runs continuously over them.",
                        {"inference-device-iterations"}));
  all.push_back(integer("inference.gradient_accumulation", "", 1, 1, 1e6, "Must be 1: use device iterations.",
                        {"inference-gradient-accumulation"}));
}

void addData(std::vector<Key>& all) {
  all.push_back(text("data.dataset", "mnist", "What to read: mnist (IDX files), or synthetic random values.",
                     {"dataset"}, {"mnist", "synthetic"}));
  all.push_back(text("data.directory", "",
                     "Folder of the MNIST IDX files, plain or gzip; empty: generated digits, cached in the "
                     "user's cache folder.",
                     {"data"}));
  all.push_back(integer("data.samples", "samples", 0, 0, 1e9,
                        "Use only the first so many training samples; 0: all.", {"samples"}));
  all.push_back(integer("data.test_samples", "samples", 0, 0, 1e9,
                        "Use only the first so many test samples; 0: all.", {"test-samples"}));
  all.push_back(real("data.mean", "", 0.1307, -1e9, 1e9, "Subtracted from samples scaled to 0…1."));
  all.push_back(
      real("data.std", "", 0.3081, 1e-9, 1e9, "Samples are divided by this after the mean is subtracted."));
}

void addSystem(std::vector<Key>& all) {
  all.push_back(text("system.name", "pod4",
                     "Emulated system; `pipescope devices` lists them. `fixed` takes its costs from [fixed].",
                     {"system"}));
}

void addFixed(std::vector<Key>& all) {
  constexpr double kMost = 1e9;
  all.push_back(required(
      real("fixed.stages[].forward", "units", 0, 0, kMost, "Cost of the forward pass per micro-batch.")));
  all.push_back(
      real("fixed.stages[].recompute", "units", 0, 0, kMost, "Cost of recompute before the backward pass."));
  all.push_back(real("fixed.stages[].backward", "units", 0, 0, kMost, "Cost of the backward pass."));
  all.push_back(
      real("fixed.stages[].update", "units", 0, 0, kMost, "Cost of the weight update, once per iteration."));
  all.push_back(real("fixed.exchange", "units", 0, 0, kMost,
                     "Time of one boundary transfer, and of a cycle's exchange."));
  all.push_back(real("fixed.call", "units", 0, 0, kMost, "Host time between two calls."));
  all.push_back(integer("fixed.calls", "", 1, 1, 1e6, "Calls to emulate."));
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> result;
    addModel(result);
    addStages(result);
    addExecution(result);
    addTraining(result);
    addInference(result);
    addData(result);
    addSystem(result);
    addFixed(result);
    return result;
  }();
  return all;
}

const Key* findKey(std::string_view path) {
  for (const Key& key : keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

}  // namespace pipescope::config
