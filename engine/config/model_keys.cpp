// Keys of [model] and [[stages]].
#include "engine/config/key_table.h"

namespace pipescope::config::table {
namespace {

/// Settings of model.builder; each builder knows which of them it takes, within which range, and its
/// defaults.
void addBuilder(std::vector<Key>& all) {
  all.push_back(
      text("model.builder", "",
           "Model made by name instead of [[model.layers]]: resnet, bert, vit or decoder. The keys below "
           "are its settings; a key that is not given takes the builder's own default.",
           {"builder"}));
  const auto count = [&](const char* name, const char* help) {
    all.push_back(integer(std::string("model.") + name, "", 0, 0, 1e12, help));
  };
  const auto number = [&](const char* name, const char* help) {
    all.push_back(real(std::string("model.") + name, "", 0, 0, 1e15, help));
  };
  const auto word = [&](const char* name, const char* help) {
    all.push_back(text(std::string("model.") + name, "", help));
  };
  const auto choice = [&](const char* name, const char* help) {
    all.push_back(boolean(std::string("model.") + name, false, help));
  };
  count("depth", "resnet: 18, 34, 50, 101 or 152 (50).");
  count("groups", "resnet: groups of the 3x3 convolutions of bottlenecks; ResNeXt has 32 (1).");
  count("width_per_group", "resnet: channels per group of the first stage (64).");
  word("stem", "resnet: imagenet (7x7 with stride 2 and pooling) or cifar (3x3) (imagenet).");
  count("image_size", "resnet, vit: edge of the square images (224).");
  count("channels", "resnet, vit: channels of the images (3).");
  count("patch_size", "vit: edge of a patch (16).");
  count("classes", "resnet, vit, bert with the classification head: classes (1000; bert 2).");
  count("layers", "bert, vit, decoder: layers (12).");
  count("hidden", "bert, vit, decoder: width of the hidden states (768).");
  count("heads", "bert, vit, decoder: attention heads (12).");
  count("key_heads", "decoder: heads of keys and values; 0: as many as heads; 1: multi-query attention (0).");
  count("head_size", "decoder: width of a head; 0: hidden / heads (0).");
  count("feed_forward", "bert, vit, decoder: width within the feed-forward part (3072).");
  count("sequence", "bert, decoder: tokens of a sample (128).");
  count("positions", "bert: positions that have an embedding (512).");
  count("vocabulary", "bert, decoder: different tokens (30522; decoder 50257).");
  count("token_types", "bert: token types that have an embedding (2).");
  word("head", "bert: squad, mlm or classification (squad).");
  word("activation", "bert, vit, decoder: gelu, relu or silu (gelu).");
  number("dropout", "bert, vit, decoder: ratio of dropped values in training (0).");
  choice("tie_embeddings",
         "bert with the mlm head, decoder: token scores use the token embedding's weights.");
  word("norm", "decoder: layer or rms (layer).");
  number("norm_epsilon", "decoder: added to the variance (1e-5).");
  word("position", "decoder: rotary, learned or none (rotary).");
  count("rotary_size", "decoder: elements of a head that are turned; 0: all (0).");
  number("rotary_base", "decoder: base of the rotary frequencies (10000).");
  choice("gated", "decoder: gated feed-forward, activation(gate)·up.");
  choice("parallel", "decoder: attention and feed-forward of a layer read the same input.");
  choice("shared_norm", "decoder, parallel: one norm for both parts; not given: true.");
  choice("attention_bias", "decoder: biases in the attention.");
  choice("feed_forward_bias", "decoder: biases in the feed-forward part.");
  choice("head_bias", "decoder: bias of the token scores.");
  word("phase", "decoder, inference: prefill of a whole prompt, or decode of one token (prefill).");
  count("cache", "decoder, decode: tokens before this one, whose keys and values are kept.");
  word("cache_at",
       "decoder: where kept keys and values are: device, or host (streamed in and out) (device).");
}

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
  addBuilder(all);
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
