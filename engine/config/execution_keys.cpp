// Keys of [execution], and those of [training] that are about the types of numbers.
#include "engine/config/key_rows.h"

namespace pipescope::config::table {
namespace {

void addPrecision(std::vector<Key>& all) {
  all.push_back(
      text("execution.precision", "float32",
           "Type of samples, weights and activations; sums within operators, statistics and losses stay "
           "float32. 32, 16 and bf16 mean the same.",
           {"precision"}, {"float32", "float16", "bfloat16", "32", "16", "bf16"}));
  all.push_back({"execution.float32_operators",
                 KeyType::texts,
                 "",
                 Value(Texts()),
                 "float16, bfloat16: operators, by ONNX's names (Gelu, LayerNormalization), that compute in "
                 "float32 all the "
                 "same: what they read is cast up, what they make is cast down.",
                 -kNoLimit,
                 kNoLimit,
                 {},
                 {"float32-operators"}});
  all.push_back(boolean("execution.stochastic_rounding", false,
                        "float16, bfloat16: round up or down at random, without bias.",
                        {"stochastic-rounding"}));
  all.push_back(
      text("execution.partials_type", "float32",
           "Type in which an IPU sums products of float16: float16 is faster and takes less memory. Emulated "
           "time and memory only; numerics sums in float32.",
           {"partials-type"}, {"float32", "float16"}));
}

}  // namespace

void addExecution(std::vector<Key>& all) {
  all.push_back(text(
      "execution.strategy", "pipelined",
      "How stages share the work: pipelined (all at once, on different micro-batches), sharded (one at a "
      "time), serial_phased (stages are phases that take turns on one device; tensors lie in streaming "
      "memory meanwhile) or parallel_phased (phases alternate between devices of even and odd number, of "
      "which the idle one loads and stores).",
      {"strategy"}, {"pipelined", "sharded", "serial_phased", "parallel_phased"}));
  all.push_back(boolean(
      "execution.separate_backward_phase", false,
      "Phased: the last phase's backward pass is a phase of its own; otherwise it follows its forward "
      "pass at once, and nothing is stored between them."));
  all.push_back(text("execution.schedule", "popart",
                     "Order of micro-batches in pipelined execution; `pipescope schedule` shows them. "
                     "Sharded execution has its own.",
                     {"schedule"}));
  all.push_back(
      integer("execution.chunks", "", 0, 0, 1024,
              "Stages on each device where no stage names its device, for schedules that come back to a "
              "device (interleaved-1f1b, zb-v); 0: as the schedule wants it.",
              {"chunks"}));
  all.push_back(
      {"execution.layers_per_stage",
       KeyType::integers,
       "",
       Value(std::vector<std::int64_t>()),
       "Instead of [[stages]]: how many of the model's layers each stage gets, e.g. [3, 7, 7, 7]. Layers "
       "are blocks whose name ends in a number; what stands before and after them goes along.",
       1,
       1e9,
       {},
       {"layers-per-stage"}});
  all.push_back(text("execution.recompute", "auto",
                     "What a backward pass computes again: pipeline keeps stage inputs only, checkpoints the "
                     "results that execution.checkpoints names too, none keeps "
                     "every activation; auto is "
                     "pipeline for pipelined training of more than one stage, otherwise none.",
                     {"recompute"}, {"auto", "pipeline", "checkpoints", "none"}));
  all.push_back(
      {"execution.checkpoints",
       KeyType::texts,
       "",
       Value(Texts()),
       "With recompute: operators whose results are kept rather than computed again, as patterns of their "
       "names (layer2, */relu). On stages that keep one micro-batch only, what lies before the last of them "
       "is "
       "computed again.",
       -kNoLimit,
       kNoLimit,
       {},
       {"checkpoints"}});
  const auto location = [&](const char* name, const char* help, Texts flags = {}) {
    all.push_back(boolean(std::string("execution.") + name, false, help, std::move(flags)));
  };
  location(
      "offload_optimizer",
      "Keep the optimizer's state in streaming memory; it is loaded and stored around each weight update.",
      {"offload-optimizer", "offload-optimiser"});
  location("offload_weights", "Keep weights in streaming memory; they are loaded for each pass.",
           {"offload-weights"});
  location("offload_activations", "Keep what backward passes need in streaming memory.",
           {"offload-activations"});
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
  all.push_back(
      integer("execution.io_tiles", "tiles", 0, 0, 1e5,
              "Tiles of each IPU that only carry data in and out, an even number of 32 to 192; 0: none.",
              {"io-tiles"}));
  location("overlap_io",
           "With I/O tiles: copies from and to the host go on beside the compute. Not pipelined.",
           {"overlap-io"});
  all.push_back(boolean("execution.numerics", true, "Compute real numbers; without, only time and memory.",
                        {"numerics"}));
  all.push_back(
      text("execution.load_weights", "",
           "File of weights (.npz, as save_weights writes it) to start from; with an optimizer's state in it "
           "training goes on where it stopped.",
           {"load-weights"}));
  all.push_back(text(
      "execution.save_weights", "",
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
  all.push_back(
      real("execution.available_memory_proportion", "fraction", 0.6, 0.001, 1,
           "Share of an IPU's tile memory that the temporaries of one product or convolution may take.",
           {"available-memory-proportion"}));
  all.push_back(text("execution.record_replicas", "speeds",
                     "Replicas that the profile holds: one of each speed, or all.", {"record-replicas"},
                     {"speeds", "all"}));
  addPrecision(all);
  all.push_back(boolean("execution.require_fit", false,
                        "End with status 1 if the model does not fit in memory.", {"require-fit"}));
}

void addTrainingPrecision(std::vector<Key>& all) {
  all.push_back(boolean("training.master_weights", false,
                        "float16, bfloat16: the optimizer moves a float32 copy of the weights.",
                        {"master-weights"}));
  all.push_back(text("training.accumulator", "float32", "Type that gradients are accumulated in.",
                     {"accumulator"}, {"float32", "float16"}));
  all.push_back(text("training.reduction", "mean",
                     "What the optimizer gets of the gradients of micro-batches and replicas.", {"reduction"},
                     {"mean", "sum"}));
  all.push_back(
      text("training.mean_strategy", "auto",
           "post: the sum is divided at the end; running: a running mean, which cannot overflow a float16 "
           "accumulator; auto: running with a float16 accumulator, otherwise post.",
           {"mean-strategy"}, {"auto", "post", "running"}));
  all.push_back(
      real("training.loss_scaling", "", 1, 0x1p-24, 0x1p+60,
           "The loss is multiplied by it and gradients are divided by it: small ones survive float16. "
           "Automatic: the scale to start with.",
           {"loss-scaling"}));
  all.push_back(
      boolean("training.automatic_loss_scaling", false,
              "Halve the loss scale where gradients come near float16's largest number, double it where "
              "none does.",
              {"automatic-loss-scaling"}));
  all.push_back(integer("training.loss_scaling_period", "updates", 1, 1, 1e9,
                        "automatic_loss_scaling: between two changes."));
  all.push_back(real("training.loss_scaling_threshold", "fraction", 1e-7, 0, 1,
                     "automatic_loss_scaling: share of large elements above which the scale is halved."));
}

}  // namespace pipescope::config::table
