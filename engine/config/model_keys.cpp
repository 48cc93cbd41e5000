// Keys of [model] and [[stages]].
#include "engine/config/key_rows.h"

namespace pipescope::config::table {
namespace {

void addOnnx(std::vector<Key>& all) {
  const auto texts = [&](std::string path, std::string unit, std::string help, Texts flags = {}) {
    all.push_back({std::move(path),
                   KeyType::texts,
                   std::move(unit),
                   Value(Texts()),
                   std::move(help),
                   -kNoLimit,
                   kNoLimit,
                   {},
                   std::move(flags)});
  };
  all.push_back(text("model.onnx", "",
                     "Model file (ONNX, opset 7 to 17) instead of model.builder or [[model.layers]]; in a "
                     "configuration file a "
                     "relative path starts at that file's folder.",
                     {"onnx"}));
  texts("model.assume", "name = value",
        "ONNX: open extents of the inputs by their symbol, and values that the graph would only know while "
        "it runs (a "
        "trip count, a computed shape) by the value's name; best as a table: [model.assume] sequence = 128.",
        {"assume"});
  texts("model.frozen", "", "ONNX: weights that are not trained, as patterns of their names (* and ?).",
        {"frozen"});
  all.push_back(
      required(text("model.blocks[].name", "",
                    "ONNX: name of a block; of the blocks NAME0, NAME1 … with matching. Nodes that no block "
                    "names go with what they read.")));
  texts("model.blocks[].nodes", "", "Nodes of the block, as patterns of their names (* and ?).");
  all.push_back(
      text("model.blocks[].prefix", "", "Layer of the block: the node of this name and all below it."));
  all.push_back(text("model.blocks[].matching", "",
                     "Pattern of layers' names, e.g. encoder/layer.*; every so many of them make a block."));
  all.push_back(integer("model.blocks[].every", "layers", 1, 1, 1e6, "matching: layers of a block."));
}

}  // namespace

void addModel(std::vector<Key>& all) {
  all.push_back(text("model.name", "model", "Name of the model in reports."));
  all.push_back({"model.input", KeyType::integers, "", Value(std::vector<std::int64_t>()),
                 "Shape of one sample, e.g. [1, 28, 28]; empty: 1x28x28 for mnist.", 1, 1e9});
  addOnnx(all);
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
  all.push_back(
      {"stages[].blocks",
       KeyType::texts,
       "",
       Value(Texts()),
       "Blocks of this stage, in order; encoder names all below it, encoder/layer0..5 a range, * any text.",
       -kNoLimit,
       kNoLimit,
       {},
       {},
       true});
  all.push_back(
      integer("stages[].device", "", -1, -1, 4095, "Device that holds the stage; −1: the stage's position."));
  all.push_back(
      integer("stages[].phase", "", -1, -1, 4095,
              "Phase that the stage belongs to, with a phased strategy; −1: each stage is a phase. Stages of "
              "one phase are on devices of their own."));
  all.push_back(real("stages[].available_memory_proportion", "fraction", 0, 0, 1,
                     "execution.available_memory_proportion of this stage's device; 0: as given there."));
}

}  // namespace pipescope::config::table
