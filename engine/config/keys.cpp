// The table of keys, put together, with those of [data], [system] and [fixed].
#include "engine/config/key_table.h"

namespace pipescope::config {
namespace table {
namespace {

void addData(std::vector<Key>& all) {
  all.push_back(text(
      "data.dataset", "mnist",
      "What to read: mnist (IDX files), cifar10, cifar100 (binary files), images (folders of PNG and "
      "JPEG files, a folder for each class, below train and test), numpy (train.npz with an array for "
      "each input of the model by its name, or samples and labels; or train_NAME.npy, or train/NAME.npy; "
      "test likewise), tensor_proto (train_NAME.pb …), or synthetic random values of the model's types "
      "and shapes. Where it is not given, and the digits do not fit a model of model.onnx or "
      "model.builder, it is synthetic.",
      {"dataset"}, {"mnist", "cifar10", "cifar100", "images", "numpy", "tensor_proto", "synthetic"}));
  all.push_back(
      text("data.directory", "",
           "Folder of the data set's files; empty, for mnist: generated digits, cached in the user's cache "
           "folder. In a configuration file a relative path starts at that file's folder.",
           {"data"}));
  all.push_back(integer("data.samples", "samples", 0, 0, 1e9,
                        "Use only the first so many training samples; 0: all.", {"samples"}));
  all.push_back(integer("data.test_samples", "samples", 0, 0, 1e9,
                        "Use only the first so many test samples; 0: all.", {"test-samples"}));
  all.push_back(
      integer("data.instances", "", 1, 1, 4096,
              "Parts that the training samples are cut into, one for each of several programs that train "
              "together; this one reads one of them."));
  all.push_back(integer("data.instance", "", 0, 0, 4095, "The part that is read, from 0."));
  all.push_back(
      real("data.loader_rate", "samples/s", 0, 0, 1e12,
           "Samples that the host's input pipeline (reading, decoding, augmenting) prepares in a second for "
           "each replica: emulated devices that are faster wait for it. 0: it never holds them up.",
           {"loader-rate"}));
  all.push_back(real("data.mean", "", 0.1307, -1e9, 1e9, "Subtracted from samples scaled to 0…1."));
  all.push_back(
      real("data.std", "", 0.3081, 1e-9, 1e9, "Samples are divided by this after the mean is subtracted."));
}

void addSystem(std::vector<Key>& all) {
  all.push_back(text("system.name", "pod4",
                     "Emulated system; `pipescope devices` lists them. `fixed` takes its costs from [fixed].",
                     {"system"}));
  all.push_back(text(
      "system.accelerator", "auto",
      "Kind of device: ipu, hpu (Gaudi; without system.name an hls-gaudi2), or auto, which takes what the "
      "system has.",
      {"accelerator"}, {"auto", "ipu", "hpu"}));
  all.push_back(
      integer("system.devices", "", 0, -1, 4096,
              "Chips of the system to use; the smallest partition that holds them is emulated. 0: all of it, "
              "of which stages and replicas take what they need. auto: all of it, with as many replicas as "
              "there are devices for.",
              {"devices"}));
  all.back().choices = {"auto"};
  all.push_back(
      required(integer("device_scale[].device", "", 0, 0, 4095, "Device that is slower than its kind.")));
  all.push_back(real("device_scale[].compute", "", 1, 0.01, 100,
                     "Its speed at all that it does by itself: 0.9 takes 1 / 0.9 times as long."));
  all.push_back(real("device_scale[].link", "", 1, 0.01, 100,
                     "Speed of its transfers to other devices, and of collectives that it takes part in."));
}

void addFixed(std::vector<Key>& all) {
  constexpr double kMost = 1e9;
  all.push_back(required(
      real("fixed.stages[].forward", "units", 0, 0, kMost, "Cost of the forward pass per micro-batch.")));
  all.push_back(
      real("fixed.stages[].recompute", "units", 0, 0, kMost, "Cost of recompute before the backward pass."));
  all.push_back(real("fixed.stages[].backward", "units", 0, 0, kMost, "Cost of the backward pass."));
  all.push_back(
      real("fixed.stages[].weight", "units", -1, -1, kMost,
           "Weight gradients within the backward pass, which zero-bubble schedules run as a pass of "
           "their own; −1: half of it."));
  all.push_back(
      real("fixed.stages[].update", "units", 0, 0, kMost, "Cost of the weight update, once per iteration."));
  all.push_back(real("fixed.exchange", "units", 0, 0, kMost,
                     "Time of one boundary transfer, and of a cycle's exchange."));
  all.push_back(real("fixed.collective", "units", 0, 0, kMost,
                     "Time of the sum of a stage's gradients over replicas, where there are several."));
  all.push_back(real("fixed.call", "units", 0, 0, kMost, "Host time between two calls."));
  all.push_back(integer("fixed.calls", "", 1, 1, 1e6, "Calls to emulate."));
}

}  // namespace
}  // namespace table

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> result;
    table::addModel(result);
    table::addStages(result);
    table::addExecution(result);
    table::addCompile(result);
    table::addTraining(result);
    table::addInference(result);
    table::addData(result);
    table::addSystem(result);
    table::addFixed(result);
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
