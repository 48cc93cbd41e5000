#include "engine/data/dataset_keys.h"

namespace pipescope::data {

std::vector<config::Key> datasetKeys(const DatasetRegistry& registry) {
  config::Key key;
  config::SettingKeys settings("data.", "data.dataset");
  key.path = "data.dataset";
  key.fallback = std::string("mnist");
  key.flags = {"dataset"};
  key.help = "What to read.";
  for (const DatasetFormat& format : registry.formats()) {
    key.choices.push_back(format.name);
    for (const config::SettingRow& setting : format.settings) settings.add(format.name, setting);
    key.help += " " + format.name + ": " + format.doc + ".";
  }
  key.help +=
      " Where it is not given, and the digits do not fit a model of model.onnx or model.builder, it is "
      "synthetic.";
  std::vector<config::Key> keys = settings.take();
  keys.insert(keys.begin(), key);
  return keys;
}

}  // namespace pipescope::data
