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
           "Folder with the files of the data set. Empty, for mnist: generated digits, which are kept in the "
           "user's cache folder. In a configuration file, a relative path starts at the folder of that file.",
           {"data"}));
  all.push_back(integer("data.samples", "samples", 0, 0, 1e9,
                        "Number of training samples to use, from the first on. 0: all.", {"samples"}));
  all.push_back(integer("data.test_samples", "samples", 0, 0, 1e9,
                        "Number of test samples to use, from the first on. 0: all.", {"test-samples"}));
  all.push_back(integer("data.instances", "", 1, 1, 4096,
                        "Number of parts of the training samples, for several programs that train together. "
                        "This program reads one part."));
  all.push_back(
      integer("data.instance", "", 0, 0, 4095, "The part that this program reads, counted from 0."));
  all.push_back(real("data.loader_rate", "samples/s", 0, 0, 1e12,
                     "Samples per second that the host prepares (reads, decodes, augments) for each replica. "
                     "Emulated devices that are faster wait for them. 0: devices never wait.",
                     {"loader-rate"}));
}

void addHost(std::vector<Key>& all) {
  constexpr double kMost = 1e6;
  all.push_back(text("host.name", "",
                     "Host whose figures are the defaults of this table; `pipescope devices` lists them, and "
                     "host = \"NAME\" stands for it. Empty: no host, so that its work takes no time.",
                     {"host"}));
  all.push_back(real("host.seconds_per_step", "s", 0, 0, kMost,
                     "Host time that the process of a replica needs for a step, whatever its size: Python, "
                     "bookkeeping, launches. A step is a weight update with its micro-batches, or in "
                     "inference a call. 0: none."));
  all.push_back(real("host.seconds_per_call", "s", 0, 0, kMost,
                     "Host time that the process of a replica needs for a call, whatever the number of its "
                     "steps, over which it is spread. 0: none."));
  all.push_back(real("host.seconds_per_sample", "s", 0, 0, kMost,
                     "Host time that the process of a replica needs for each sample of a step. 0: none."));
  all.push_back(
      boolean("host.reads_results", false,
              "The process reads a result of each step from the device (a loss, the next token) "
              "before it goes on, so its work follows the step. Otherwise it works on the next step "
              "while the devices compute."));
  all.push_back(real("host.seconds_per_load", "s", 0, 0, kMost,
                     "Host time to read, decode and augment one sample. 0: none."));
  all.push_back(integer("host.loader_workers", "processes", 0, 0, 4096,
                        "Processes of each replica that prepare samples. 0: the replica's process prepares "
                        "them itself."));
  all.push_back(integer("host.cores", "cores", 0, 0, 1e5,
                        "Cores of a host, which the processes and loader workers of its replicas share. 0: "
                        "enough for all."));
  all.push_back(
      integer("host.processes", "", 0, 0, 4096,
              "Processes that run on one host and share its cores and memory: one for each replica, "
              "and for each rank of it. 0: all of the run."));
  all.push_back(
      integer("host.memory", "B", 0, 0, 1e18,
              "Memory of a host, in which each of its processes holds the weights of the whole model "
              "before it sends them to its devices. 0: not judged."));
  all.push_back(text("host.copies", "synchronous",
                     "Copies between host and device: synchronous, between the steps, or overlapped with the "
                     "compute. IPUs have execution.overlap_io for this.",
                     {}, {"synchronous", "overlapped"}));
}

void addSystem(std::vector<Key>& all) {
  all.push_back(text("system.name", "pod4",
                     "Emulated system; `pipescope devices` lists all. `fixed` takes its costs from [fixed] "
                     "instead of a model.",
                     {"system"}));
  all.push_back(integer(
      "system.devices", "", 0, -1, kMostChips,
      "Number of chips to use. The smallest partition that holds them is emulated. 0: the whole system, of "
      "which stages and replicas take what they need. auto: the whole system, with as many replicas as fit.",
      {"devices"}));
  all.back().choices = {"auto"};
  all.push_back(real("system.price_per_hour", "currency/h", 0, 0, 1e9,
                     "Price of the whole system, in any currency. A sweep shows how many samples a unit of "
                     "the currency buys. 0: unknown."));
  all.push_back(required(
      integer("device_scale[].device", "", 0, 0, kMostChips - 1, "Device that is slower than its kind.")));
  all.push_back(real("device_scale[].compute", "", 1, 0.01, 100,
                     "Speed of its own work: with 0.9 it takes 1 / 0.9 times as long."));
  all.push_back(
      real("device_scale[].link", "", 1, 0.01, 100,
           "Speed of its transfers to other devices and of the collectives that it takes part in."));
}

/// Costs of a stage, or of a layer: `table` is the array of tables, `what` one of its entries.
void addFixedCosts(std::vector<Key>& all, const std::string& table, const std::string& what) {
  constexpr double kMost = 1e9, kMostBytes = 1e15;
  const auto cost = [&](const char* name, const std::string& help) {
    return real(table + "[]." + name, "units", 0, 0, kMost, help);
  };
  all.push_back(required(cost("forward", "Cost of the forward pass per micro-batch.")));
  all.push_back(cost("recompute", "Cost of the recompute pass before the backward pass."));
  all.push_back(cost("backward", "Cost of the backward pass."));
  all.push_back(real(table + "[].weight", "units", -1, -1, kMost,
                     "Cost of the weight gradients within the backward pass. Zero-bubble schedules run them "
                     "as a pass of their own. −1: half of the backward pass."));
  all.push_back(cost("update", "Cost of the weight update, once per iteration."));
  all.push_back(
      integer(table + "[].sends", "B", 0, 0, kMostBytes,
              "Bytes of activations that a micro-batch sends to the next " + what +
                  " if that is on another device; its gradients come back with as many. They take time where "
                  "fixed.bandwidth is given."));
  all.push_back(integer(table + "[].holds", "B", 0, 0, kMostBytes,
                        "Bytes that the " + what +
                            " always holds, such as weights, gradients and the state of the optimizer."));
  all.push_back(integer(table + "[].stash", "B", 0, 0, kMostBytes,
                        "Bytes that the " + what +
                            " keeps for each micro-batch from its forward pass to the end of its backward "
                            "pass."));
}

void addFixed(std::vector<Key>& all) {
  constexpr double kMost = 1e9;
  addFixedCosts(all, "fixed.stages", "stage");
  all.push_back(integer("fixed.layers[].count", "", 1, 1, 1e5, "Number of layers with these costs."));
  all.push_back(boolean("fixed.layers[].counted", true,
                        "Whether the layers count when layers are divided into stages. Others, such as an "
                        "embedding or a loss, stay with the layer before them, and the first ones with the "
                        "layer behind them."));
  addFixedCosts(all, "fixed.layers", "layer");
  all.push_back(integer(
      "fixed.places", "", 0, 0, 4096,
      "Number of devices that the layers of [[fixed.layers]] are divided among, in equal numbers or one more "
      "on the last ones. A schedule with chunks has execution.chunks stages on each."));
  all.push_back({"fixed.split", KeyType::integers, "", Value(std::vector<std::int64_t>()),
                 "Number of layers of [[fixed.layers]] in each stage. Empty: equal numbers.", 0, 1e5});
  all.push_back(text("fixed.unit", "",
                     "Unit of all costs. Reports then show times. Empty: cost units without a meaning."));
  all.back().choices = {"", "s", "ms", "us"};
  all.push_back(real("fixed.launch", "units", 0, 0, kMost,
                     "Time of each pass before its work begins, whatever it computes."));
  all.push_back(real("fixed.receive", "units", 0, 0, kMost,
                     "Time in which a pass whose input comes from another device takes it, and in which its "
                     "device cannot compute. It comes on top of fixed.launch. 0: transfers and computation "
                     "overlap."));
  all.push_back(
      boolean("fixed.blocking_sends", false,
              "Whether a device that has sent to another one goes on only when the receiver has taken the "
              "message. A device takes it when it has nothing to compute before the pass that needs it, and "
              "the transfer begins then. Blocking sends of gloo and MPI do so, and NCCL's for messages that "
              "exceed its buffers. Schedules with barriers exchange at fixed times and refuse it."));
  all.push_back(
      real("fixed.shared_compute", "devices", 0, 0, 1e6,
           "Devices that compute at full speed at the same time, where they are processes that share "
           "the cores of one machine. If more of them compute, the passes of all take longer by the "
           "same factor. It may be a fraction: two threads of one core do the work of 1.3. 0: "
           "devices share nothing. Schedules with barriers refuse it."));
  all.push_back(
      integer("fixed.memory", "B", 0, 0, 1e15,
              "Memory of each device. It decides what fits where stages or layers state their bytes. "
              "0: everything fits."));
  all.push_back(real("fixed.bandwidth", "B per unit", 0, 0, 1e18,
                     "Bytes of a transfer between stages that take one unit, beside fixed.exchange. 0: their "
                     "number does not matter."));
  all.push_back(real("fixed.exchange", "units", 0, 0, kMost,
                     "Time of one transfer between stages, and of the exchange in a pipeline cycle."));
  all.push_back(real("fixed.collective", "units", 0, 0, kMost,
                     "Time to sum the gradients of a stage over replicas, if there are several."));
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
  table::addHost(all);
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

bool KeyTable::isTable(std::string_view path) const {
  std::string before(path);
  before += '.';
  const auto found = index_.lower_bound(before);
  return found != index_.end() && found->first.starts_with(before);
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
