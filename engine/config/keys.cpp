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

/// Settings of model.builder; each builder knows which of them it takes, within which range, and its defaults.
void addBuilder(std::vector<Key>& all) {
  all.push_back(text("model.builder", "",
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
  choice("tie_embeddings", "bert with the mlm head, decoder: token scores use the token embedding's weights.");
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
  word("cache_at", "decoder: where kept keys and values are: device, or host (streamed in and out) (device).");
}

void addOnnx(std::vector<Key>& all) {
  const auto texts = [&](std::string path, std::string unit, std::string help, Texts flags = {}) {
    all.push_back({std::move(path), KeyType::texts, std::move(unit), Value(Texts()), std::move(help), -kNoLimit, kNoLimit,
                   {}, std::move(flags)});
  };
  all.push_back(text("model.onnx", "", "Model file (ONNX, opset 7 to 17) instead of model.builder or [[model.layers]]; in a configuration file a "
                     "relative path starts at that file's folder.",
                     {"onnx"}));
  texts("model.assume", "name = value",
        "ONNX: open extents of the inputs by their symbol, and values that the graph would only know while it runs (a "
        "trip count, a computed shape) by the value's name; best as a table: [model.assume] sequence = 128.",
        {"assume"});
  texts("model.frozen", "", "ONNX: weights that are not trained, as patterns of their names (* and ?).", {"frozen"});
  all.push_back(required(text("model.blocks[].name", "",
                              "ONNX: name of a block; of the blocks NAME0, NAME1 … with matching. Nodes that no block "
                              "names go with what they read.")));
  texts("model.blocks[].nodes", "", "Nodes of the block, as patterns of their names (* and ?).");
  all.push_back(text("model.blocks[].prefix", "", "Layer of the block: the node of this name and all below it."));
  all.push_back(text("model.blocks[].matching", "",
                     "Pattern of layers' names, e.g. encoder/layer.*; every so many of them make a block."));
  all.push_back(integer("model.blocks[].every", "layers", 1, 1, 1e6, "matching: layers of a block."));
}

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
  all.push_back({"stages[].blocks",
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
  all.push_back(integer("stages[].phase", "", -1, -1, 4095,
                        "Phase that the stage belongs to, with a phased strategy; −1: each stage is a phase. Stages of "
                        "one phase are on devices of their own."));
  all.push_back(real("stages[].available_memory_proportion", "fraction", 0, 0, 1,
                     "execution.available_memory_proportion of this stage's device; 0: as given there."));
}

void addExecution(std::vector<Key>& all) {
  all.push_back(text("execution.strategy", "pipelined",
                     "How stages share the work: pipelined (all at once, on different micro-batches), sharded (one at a "
                     "time), serial_phased (stages are phases that take turns on one device; tensors lie in streaming "
                     "memory meanwhile) or parallel_phased (phases alternate between devices of even and odd number, of "
                     "which the idle one loads and stores).",
                     {"strategy"}, {"pipelined", "sharded", "serial_phased", "parallel_phased"}));
  all.push_back(boolean("execution.separate_backward_phase", false,
                        "Phased: the last phase's backward pass is a phase of its own; otherwise it follows its forward "
                        "pass at once, and nothing is stored between them."));
  all.push_back(text("execution.schedule", "popart",
                     "Order of micro-batches in pipelined execution; `pipescope schedule` shows them. "
                     "Sharded execution has its own.",
                     {"schedule"}));
  all.push_back(integer("execution.chunks", "", 0, 0, 1024,
                        "Stages on each device where no stage names its device, for schedules that come back to a "
                        "device (interleaved-1f1b, zb-v); 0: as the schedule wants it.",
                        {"chunks"}));
  all.push_back({"execution.layers_per_stage", KeyType::integers, "", Value(std::vector<std::int64_t>()),
                 "Instead of [[stages]]: how many of the model's layers each stage gets, e.g. [3, 7, 7, 7]. Layers "
                 "are blocks whose name ends in a number; what stands before and after them goes along.",
                 1, 1e9, {}, {"layers-per-stage"}});
  all.push_back(text("execution.recompute", "auto",
                     "What a backward pass computes again: pipeline keeps stage inputs only, checkpoints the results that execution.checkpoints names too, none keeps "
                     "every activation; auto is "
                     "pipeline for pipelined training of more than one stage, otherwise none.",
                     {"recompute"}, {"auto", "pipeline", "checkpoints", "none"}));
  all.push_back({"execution.checkpoints", KeyType::texts, "", Value(Texts()),
                 "With recompute: operators whose results are kept rather than computed again, as patterns of their "
                 "names (layer2, */relu). On stages that keep one micro-batch only, what lies before the last of them is "
                 "computed again.",
                 -kNoLimit, kNoLimit, {}, {"checkpoints"}});
  const auto location = [&](const char* name, const char* help, Texts flags = {}) {
    all.push_back(boolean(std::string("execution.") + name, false, help, std::move(flags)));
  };
  location("offload_optimizer",
           "Keep the optimizer's state in streaming memory; it is loaded and stored around each weight update.",
           {"offload-optimizer", "offload-optimiser"});
  location("offload_weights", "Keep weights in streaming memory; they are loaded for each pass.", {"offload-weights"});
  location("offload_activations", "Keep what backward passes need in streaming memory.", {"offload-activations"});
  location("offload_accumulators", "Keep sums of gradients in streaming memory.", {"offload-accumulators"});
  all.push_back(integer("execution.offload_least_elements", "elements", 2, 1, 1e12,
                        "Tensors of fewer elements stay on the chip."));
  location("shard_optimizer",
           "Replicated tensor sharding: each replica keeps and updates its share of the weights' state only.",
           {"shard-optimizer"});
  location("shard_weights", "Each replica keeps its share of the weights; they are gathered for each pass.",
           {"shard-weights"});
  location("shard_accumulators",
           "Each replica keeps its share of the sums of gradients; each micro-batch's are scattered.",
           {"shard-accumulators"});
  all.push_back(integer("execution.shard_least_elements", "elements", 8192, 1, 1e12,
                        "Tensors of fewer elements are not sharded."));
  all.push_back(integer("execution.io_tiles", "tiles", 0, 0, 1e5,
                        "Tiles of each IPU that only carry data in and out, an even number of 32 to 192; 0: none.",
                        {"io-tiles"}));
  location("overlap_io", "With I/O tiles: copies from and to the host go on beside the compute. Not pipelined.",
           {"overlap-io"});
  all.push_back(boolean("execution.numerics", true, "Compute real numbers; without, only time and memory.",
                        {"numerics"}));
  all.push_back(text("execution.load_weights", "",
                     "File of weights (.npz, as save_weights writes it) to start from; with an optimizer's state in it "
                     "training goes on where it stopped.",
                     {"load-weights"}));
  all.push_back(text("execution.save_weights", "",
                     "File to write after training: the weights with the optimizer's state (.npz), or an ONNX model with "
                     "its weights (.onnx).",
                     {"save-weights"}));
  all.push_back(text("execution.metrics", "", "File for the metrics of every call, one JSON object a line.",
                     {"metrics"}));
  all.push_back(text("execution.mode", "all", "What to run: both, or only training or inference.", {"mode"},
                     {"all", "training", "inference"}));
  all.push_back(integer("execution.seed", "", 42, 0, 9007199254740992.0,
                        "Seed of weights, shuffling and every random number.", {"seed"}));
  all.push_back(integer("execution.threads", "", 0, 0, 1024, "Host threads; 0: all cores.", {"threads"}));
  all.push_back(
      text("execution.record", "steps",
           "What the profile holds: off (summary facts only), stages (placements without steps), steps, "
           "tiles (also what every tile does in each step).",
           {"record"}, {"off", "stages", "steps", "tiles"}));
  all.push_back(real("execution.available_memory_proportion", "fraction", 0.6, 0.001, 1,
                     "Share of an IPU's tile memory that the temporaries of one product or convolution may take.",
                     {"available-memory-proportion"}));
  all.push_back(text("execution.record_replicas", "speeds",
                     "Replicas that the profile holds: one of each speed, or all.", {"record-replicas"},
                     {"speeds", "all"}));
  all.push_back(boolean("execution.require_fit", false,
                        "End with status 1 if the model does not fit in memory.", {"require-fit"}));
}

void addOptimizer(std::vector<Key>& all) {
  const auto setting = [&](const char* name, double fallback, double least, double most, const char* help,
                           Texts flags = {}) {
    all.push_back(real(std::string("training.") + name, "", fallback, least, most, help, std::move(flags)));
  };
  all.push_back(text("training.optimizer", "adamw", "Weight update rule.", {"optimizer"},
                     {"adam", "adamax", "adamw", "lamb", "lars", "rmsprop", "sgd"}));
  setting("learning_rate", 1e-3, 0, 1e6, "Step of the optimizer.", {"learning-rate"});
  setting("weight_decay", 0, 0, 1e6,
          "Decay of the weights; not given: the optimizer's own default (adamw, lamb 0.01; lars 1e-4; others 0).",
          {"weight-decay"});
  all.push_back(boolean("training.decay_vectors", true,
                        "Decay parameters of one axis (biases, norms) too; without, lars does not adapt them either.",
                        {"decay-vectors"}));
  setting("momentum", 0, 0, 0.9999999,
          "sgd, rmsprop, lars: share of the velocity that is kept (lars's own default: 0.9).", {"momentum"});
  setting("dampening", 0, 0, 1, "sgd: share of the gradient that is left out, in the first step too.");
  all.push_back(boolean("training.nesterov", false, "sgd: Nesterov's momentum.", {"nesterov"}));
  setting("velocity_scaling", 1, 1e-6, 1e6, "sgd: factor of the velocity, for half precision.");
  setting("beta1", 0.9, 0, 0.9999999, "adam, adamw, adamax, lamb: decay of the first moment.");
  setting("beta2", 0.999, 0, 0.9999999,
          "adam, adamw, lamb: decay of the second moment; adamax: of the largest gradient.");
  setting("alpha", 0.99, 0, 0.9999999, "rmsprop: decay of the mean square.");
  setting("epsilon", 1e-8, 0, 1,
          "adam, adamw, lamb, rmsprop: added to the root of the second moment; adamax: to the largest gradient; "
          "lars: to the norms (its own default: 0).");
  all.push_back(boolean("training.centered", false, "rmsprop: the mean square less the squared mean."));
  all.push_back(boolean("training.bias_correction", true, "lamb: moments are divided by 1 - beta^t."));
  setting("max_weight_norm", 65500, 1e-30, 1e30, "lamb: weight norms above it count as this.");
  setting("trust_coefficient", 1e-3, 1e-12, 1e3,
          "lars: factor of the adaptation by layer. A step moves a layer by about learning_rate × this × its norm: "
          "learning rates of 1 to 10 are usual.");
  setting("clip_norm", 0, 0, 1e30,
          "Gradients whose norm over all parameters is larger are scaled down to it; 0: never.", {"clip-norm"});
  all.push_back(text("training.lr_schedule", "constant", "How the learning rate moves.", {"lr-schedule"},
                     {"constant", "cosine", "exponential", "linear", "multi_step", "polynomial", "step"}));
  all.push_back(text("training.lr_unit", "update",
                     "What the schedule counts: weight updates, or epochs (the rate is then the same within one).",
                     {"lr-unit"}, {"update", "epoch"}));
  all.push_back(integer("training.lr_warmup", "of lr_unit", 0, 0, 1e12,
                        "The rate rises linearly over so many, before the schedule begins.", {"lr-warmup"}));
  all.push_back(integer("training.lr_total", "of lr_unit", 0, 0, 1e12,
                        "linear, cosine, polynomial: where they end; 0: with the run."));
  setting("lr_end", 0, 0, 1e6, "linear, cosine, polynomial: the last rate.", {"lr-end"});
  setting("lr_gamma", 0.1, 0, 1e6, "step, multi_step, exponential: factor.", {"lr-gamma"});
  setting("lr_power", 1, 0, 100, "polynomial: exponent.");
  all.push_back(integer("training.lr_step_size", "of lr_unit", 1, 1, 1e12, "step: between two factors."));
  all.push_back({"training.lr_milestones", KeyType::integers, "of lr_unit", Value(std::vector<std::int64_t>()),
                 "multi_step: where the factors are.", 0, 1e12});
}

void addPrecision(std::vector<Key>& all) {
  all.push_back(text("execution.precision", "float32",
                     "Type of samples, weights and activations; sums within operators, statistics and losses stay "
                     "float32. 32, 16 and bf16 mean the same.",
                     {"precision"}, {"float32", "float16", "bfloat16", "32", "16", "bf16"}));
  all.push_back({"execution.float32_operators", KeyType::texts, "", Value(Texts()),
                 "float16, bfloat16: operators, by ONNX's names (Gelu, LayerNormalization), that compute in float32 all the "
                 "same: what they read is cast up, what they make is cast down.",
                 -kNoLimit, kNoLimit, {}, {"float32-operators"}});
  all.push_back(boolean("execution.stochastic_rounding", false,
                        "float16, bfloat16: round up or down at random, without bias.", {"stochastic-rounding"}));
  all.push_back(text("execution.partials_type", "float32",
                     "Type in which an IPU sums products of float16: float16 is faster and takes less memory. Emulated "
                     "time and memory only; numerics sums in float32.",
                     {"partials-type"}, {"float32", "float16"}));
  all.push_back(boolean("training.master_weights", false,
                        "float16, bfloat16: the optimizer moves a float32 copy of the weights.",
                        {"master-weights"}));
  all.push_back(text("training.accumulator", "float32", "Type that gradients are accumulated in.", {"accumulator"},
                     {"float32", "float16"}));
  all.push_back(text("training.reduction", "mean", "What the optimizer gets of the gradients of micro-batches and replicas.",
                     {"reduction"}, {"mean", "sum"}));
  all.push_back(text("training.mean_strategy", "auto",
                     "post: the sum is divided at the end; running: a running mean, which cannot overflow a float16 "
                     "accumulator; auto: running with a float16 accumulator, otherwise post.",
                     {"mean-strategy"}, {"auto", "post", "running"}));
  all.push_back(real("training.loss_scaling", "", 1, 0x1p-24, 0x1p+60,
                     "The loss is multiplied by it and gradients are divided by it: small ones survive float16. "
                     "Automatic: the scale to start with.",
                     {"loss-scaling"}));
  all.push_back(boolean("training.automatic_loss_scaling", false,
                        "Halve the loss scale where gradients come near float16's largest number, double it where "
                        "none does.",
                        {"automatic-loss-scaling"}));
  all.push_back(integer("training.loss_scaling_period", "updates", 1, 1, 1e9,
                        "automatic_loss_scaling: between two changes."));
  all.push_back(real("training.loss_scaling_threshold", "fraction", 1e-7, 0, 1,
                     "automatic_loss_scaling: share of large elements above which the scale is halved."));
}

/// A key for each pass of engine/compile/passes.
void addCompile(std::vector<Key>& all) {
  const auto pass = [&](const char* name, const char* help) {
    all.push_back(boolean(std::string("compile.") + name, true, help));
  };
  pass("fold_constants", "Compute nodes that read constants only while compiling.");
  pass("common_subexpressions", "Compute nodes of one stage and pass that do the same with the same inputs once.");
  pass("fuse_elementwise",
       "Join elementwise operators that follow each other within a block, where the device is faster so.");
  pass("in_place", "Write elementwise results over an input that is not needed afterwards.");
  pass("outline",
       "Keep the code of repeated blocks once and call it, where that saves more memory than copies of the arguments "
       "take.");
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
  all.push_back(integer("training.replication_factor", "replicas", 1, 1, 4096,
                        "Copies of all stages that train together, each on devices of its own with other samples; "
                        "gradients are summed over them before each update. Not given, but system.devices is: as many "
                        "as there are devices for.",
                        {"replication-factor"}));
  all.push_back(boolean("training.check_replicas", false,
                        "Each replica keeps weights and optimizer state of its own, and all are compared at the end; "
                        "otherwise replicas in one process share them.",
                        {"check-replicas"}));
  all.push_back(integer("training.input_replica_grouping", "replicas", 1, 1, 4096,
                        "Neighbouring replicas that get the same samples; must divide the replicas.",
                        {"input-replica-grouping"}));
  all.push_back(integer("training.norm_replicas", "replicas", 1, 1, 4096,
                        "Neighbouring replicas over which batch norms take their statistics; must divide the "
                        "replicas.",
                        {"norm-replicas"}));
  all.push_back(text("training.loss", "cross_entropy",
                     "Loss at the end of the last block: cross_entropy, or for ONNX models also nll (of "
                     "log-probabilities), mse, bce (of probabilities) and model (the graph's own).",
                     {"loss"}, {"cross_entropy", "nll", "mse", "bce", "model"}));
  addOptimizer(all);
  addPrecision(all);
  all.push_back(text(
      "training.output_mode", "final",
      "Micro-batches whose losses and predictions a call returns: all, final (the last), sum or every_n.",
      {"output-mode"}, {"all", "final", "sum", "every_n"}));
  all.push_back(
      integer("training.output_period", "micro-batches", 1, 1, 1e6, "every_n: period.", {"output-period"}));
  all.push_back(boolean("training.shuffle", true, "New order of the samples in each epoch.", {"shuffle"}));
  all.push_back(integer("training.validation_interval", "epochs", 0, 0, 1e6,
                        "Infer over the test data after every so many epochs; 0: never.", {"validation-interval"}));
}

void addInference(std::vector<Key>& all) {
  all.push_back(integer("inference.micro_batch_size", "samples", 1, 1, 1e6, "Samples of one micro-batch.",
                        {"inference-micro-batch-size", "test-batch-size"}));
  all.push_back(integer("inference.device_iterations", "", 1, 1, 1e6,
                        "Micro-batches per call; the pipeline runs continuously over them.",
                        {"inference-device-iterations"}));
  all.push_back(integer("inference.replication_factor", "replicas", 1, 1, 4096,
                        "Copies of all stages that infer side by side, each on other samples.",
                        {"inference-replication-factor"}));
  all.push_back(integer("inference.gradient_accumulation", "", 1, 1, 1e6, "Must be 1: use device iterations.",
                        {"inference-gradient-accumulation"}));
}

void addData(std::vector<Key>& all) {
  all.push_back(text("data.dataset", "mnist",
                     "What to read: mnist (IDX files), cifar10, cifar100 (binary files), images (folders of PNG and "
                     "JPEG files, a folder for each class, below train and test), numpy (train.npz with an array for "
                     "each input of the model by its name, or samples and labels; or train_NAME.npy, or train/NAME.npy; "
                     "test likewise), tensor_proto (train_NAME.pb …), or synthetic random values of the model's types "
                     "and shapes. Where it is not given, and the digits do not fit a model of model.onnx or "
                     "model.builder, it is synthetic.",
                     {"dataset"}, {"mnist", "cifar10", "cifar100", "images", "numpy", "tensor_proto", "synthetic"}));
  all.push_back(text("data.directory", "",
                     "Folder of the data set's files; empty, for mnist: generated digits, cached in the user's cache "
                     "folder. In a configuration file a relative path starts at that file's folder.",
                     {"data"}));
  all.push_back(integer("data.samples", "samples", 0, 0, 1e9,
                        "Use only the first so many training samples; 0: all.", {"samples"}));
  all.push_back(integer("data.test_samples", "samples", 0, 0, 1e9,
                        "Use only the first so many test samples; 0: all.", {"test-samples"}));
  all.push_back(integer("data.instances", "", 1, 1, 4096,
                        "Parts that the training samples are cut into, one for each of several programs that train "
                        "together; this one reads one of them."));
  all.push_back(integer("data.instance", "", 0, 0, 4095, "The part that is read, from 0."));
  all.push_back(real("data.loader_rate", "samples/s", 0, 0, 1e12,
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
  all.push_back(text("system.accelerator", "auto",
                     "Kind of device: ipu, hpu (Gaudi; without system.name an hls-gaudi2), or auto, which takes what the "
                     "system has.",
                     {"accelerator"}, {"auto", "ipu", "hpu"}));
  all.push_back(integer("system.devices", "", 0, -1, 4096,
                        "Chips of the system to use; the smallest partition that holds them is emulated. 0: all of it, "
                        "of which stages and replicas take what they need. auto: all of it, with as many replicas as "
                        "there are devices for.",
                        {"devices"}));
  all.back().choices = {"auto"};
  all.push_back(required(integer("device_scale[].device", "", 0, 0, 4095, "Device that is slower than its kind.")));
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
  all.push_back(real("fixed.stages[].weight", "units", -1, -1, kMost,
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

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> result;
    addModel(result);
    addStages(result);
    addExecution(result);
    addCompile(result);
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
