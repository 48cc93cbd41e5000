// The core's keys, put together, with those of [data], [system] and [fixed].
#include <algorithm>
#include <iterator>

#include "engine/config/key_rows.h"
#include "engine/config/key_table.h"
#include "profiler/base/check.h"

namespace pipescope::config {
namespace table {
namespace {

void addData(std::vector<Key>& all) {
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
}

void addSystem(std::vector<Key>& all) {
  all.push_back(text("system.name", "pod4",
                     "Emulated system; `pipescope devices` lists them. `fixed` takes its costs from [fixed].",
                     {"system"}));
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

std::vector<Key> coreKeys() {
  std::vector<Key> all;
  table::addModel(all);
  table::addStages(all);
  table::addExecution(all);
  table::addTraining(all);
  table::addInference(all);
  table::addData(all);
  table::addSystem(all);
  table::addFixed(all);
  return all;
}

KeyTable::KeyTable(std::vector<Key> keys) : keys_(std::move(keys)) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const bool isNew = index_.emplace(keys_[i].path, i).second;
    PIPESCOPE_CHECK(isNew, "the key " + keys_[i].path + " stands in the table twice");
  }
  for (const Key& key : keys_) {
    const bool known = key.chooser.empty() || find(key.chooser) != nullptr;
    PIPESCOPE_CHECK(known, key.path + " depends on " + key.chooser + ", which is no key");
  }
}

const Key* KeyTable::find(std::string_view path) const {
  const auto found = index_.find(path);
  return found == index_.end() ? nullptr : &keys_[found->second];
}

std::vector<std::string> KeyTable::paths() const {
  std::vector<std::string> paths;
  for (const Key& key : keys_) paths.push_back(key.path);
  return paths;
}

void insertAfter(std::vector<Key>& keys, std::string_view path, std::vector<Key> added) {
  const auto at = std::ranges::find(keys, path, &Key::path);
  PIPESCOPE_CHECK(at != keys.end(), "there is no key " + std::string(path));
  keys.insert(at + 1, std::move_iterator(added.begin()), std::move_iterator(added.end()));
}

}  // namespace pipescope::config
