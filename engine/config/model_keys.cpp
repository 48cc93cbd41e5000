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
                     "Model file (ONNX, opset 7 to 17) instead of model.builder or [[model.layers]]. In a "
                     "configuration file, a relative path starts at the folder of that file.",
                     {"onnx"}));
  texts("model.assume", "name = value",
        "ONNX: sizes that the model leaves open, by their symbol, and values that are only known while the "
        "model runs (a trip count, a computed shape), by their name. Best written as a table: [model.assume] "
        "sequence = 128.",
        {"assume"});
  texts("model.frozen", "", "ONNX: patterns (* and ?) of the names of weights that are not trained.",
        {"frozen"});
  texts("model.scalar_weights", "",
        "ONNX: patterns (* and ?) of the names of scalars that are trained. Other scalars are constants, "
        "because files hold the numbers of formulas in the same way.",
        {});
  all.push_back(required(text("model.blocks[].name", "",
                              "ONNX: name of a block. With matching, the blocks are called NAME0, NAME1 …. A "
                              "node that belongs to no block joins the block whose results it reads.")));
  texts("model.blocks[].nodes", "", "Patterns (* and ?) of the names of the block's nodes.");
  all.push_back(
      text("model.blocks[].prefix", "", "The block holds the node of this name and all nodes below it."));
  all.push_back(text("model.blocks[].matching", "",
                     "Pattern of layer names, as encoder/layer.*. The layers that match are divided into "
                     "blocks of `every` layers."));
  all.push_back(
      integer("model.blocks[].every", "layers", 1, 1, 1e6, "matching: number of layers in a block."));
}

}  // namespace

void addModel(std::vector<Key>& all) {
  all.push_back(text("model.name", "model", "Name of the model in reports."));
  all.push_back({"model.input", KeyType::integers, "", Value(std::vector<std::int64_t>()),
                 "Shape of one sample, as [1, 28, 28]. Empty: 1x28x28 for mnist.", 1, 1e9});
  addOnnx(all);
  all.push_back(required(text("model.multi_convs[].name", "",
                              "IPUs: name of a multi-convolution, a group of convolutions that do not depend "
                              "on each other and run side by side on shares of the tiles. So do their "
                              "gradients. It changes no number. PopTorch calls it poptorch.MultiConv.")));
  all.push_back(required({"model.multi_convs[].operators", KeyType::texts, "", Value(Texts()),
                          "Names of operators or layers, or patterns (*): the convolutions among them belong "
                          "to the group."}));
  all.push_back(required(text("model.returned[].output", "",
                              "Name of an output with an output mode of its own in calls of a program. A "
                              "gradient of training.returned_gradients is called \"gradient of NAME\".")));
  all.push_back(required(text("model.returned[].mode", "",
                              "Of which micro-batches it is returned: all, the last one (final), every n-th "
                              "(every_n), or their sum. It is copied from the devices when the other outputs "
                              "are.",
                              {}, {"all", "final", "sum", "every_n"})));
  all.push_back(integer("model.returned[].period", "micro-batches", 1, 1, 1e6,
                        "every_n: one of so many micro-batches is returned."));
  all.push_back(
      required(text("model.shard[].weights", "",
                    "With execution.tensor_parallel: pattern (* and ?) of the names of weights that are "
                    "divided otherwise than the program would, as */query/weight. The first entry that "
                    "names a weight counts.")));
  all.push_back(
      required(integer("model.shard[].axis", "", -1, -1, 16,
                       "Axis of the weight, as it is stored, along which the ranks divide it; section "
                       "sharding of the report shows shapes. -1: each rank holds the whole weight.")));
  all.push_back(
      required(text("model.layers[].type", "", "Layer type: conv, maxpool, relu, flatten or linear.")));
  all.push_back(
      required(text("model.layers[].name", "", "Name path of the layer, as layer1/conv. Names are unique.")));
  all.push_back(required(text("model.layers[].block", "", "Block that the layer belongs to, as B1.")));
  constexpr double kMost = 1e6;
  all.push_back(integer("model.layers[].in_channels", "", 0, 0, kMost,
                        "conv: input channels. 0: those of the layer before."));
  all.push_back(integer("model.layers[].out_channels", "", 0, 0, kMost, "conv: filters."));
  all.push_back(
      integer("model.layers[].kernel_size", "", 0, 0, kMost, "conv, maxpool: edge of the square window."));
  all.push_back(
      integer("model.layers[].stride", "", 0, 0, kMost,
              "conv, maxpool: step of the window. 0 means 1 for conv and kernel_size for maxpool."));
  all.push_back(
      integer("model.layers[].padding", "", 0, 0, kMost, "conv, maxpool: zeros added on every side."));
  all.push_back(
      integer("model.layers[].in_features", "", 0, 0, 1e9, "linear: inputs. 0: those of the layer before."));
  all.push_back(integer("model.layers[].out_features", "", 0, 0, 1e9, "linear: outputs."));
}

void addStages(std::vector<Key>& all) {
  all.push_back({"stages[].blocks",
                 KeyType::texts,
                 "",
                 Value(Texts()),
                 "Blocks of this stage, in order. encoder means all blocks below it, encoder/layer0..5 a "
                 "range, and * stands for any text.",
                 -kNoLimit,
                 kNoLimit,
                 {},
                 {},
                 true});
  all.push_back(integer("stages[].device", "", -1, -1, 4095,
                        "Device that holds the stage. −1: the schedule or the strategy decides."));
  all.push_back(integer("stages[].phase", "", -1, -1, 4095,
                        "With a phased strategy: phase of the stage. −1: each stage is a phase. Neighbouring "
                        "stages of one phase are on different devices."));
  all.push_back(
      real("stages[].available_memory_proportion", "fraction", 0, 0, 1,
           "execution.available_memory_proportion for the device of this stage. 0: as given there."));
}

}  // namespace pipescope::config::table
