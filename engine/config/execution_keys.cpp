// Keys of [execution], and those of [training] that are about the types of numbers.
#include "engine/config/key_rows.h"

namespace pipescope::config::table {
namespace {

/// Adds the keys that say what precision = "float8" casts, to what, and with which scales.
void addFloat8(std::vector<Key>& all) {
  all.push_back(
      text("execution.float8_format", "hybrid",
           "With float8: the type of the factors of MatMul, Gemm, Conv and experts. hybrid: float8_143 (4 "
           "bits of exponent, 3 of fraction) for weights and activations, float8_152 for gradients. "
           "`pipescope devices NAME` says which bias and largest number a device gives them.",
           {"float8-format"}, {"hybrid", "float8_143", "float8_152"}));
  all.push_back(
      text("execution.float8_scaling", "current",
           "With float8: how a tensor is scaled before it is cast. current: by the largest power of "
           "two with which its largest number still fits, which costs a pass over it. fixed: by "
           "float8_scales; numbers that do not fit become the largest one. blocks: each run of 32 elements "
           "along the axis over which a product sums has a power of two of its own (MXFP8), so that a tensor "
           "is kept once for each axis; convolutions stay 16-bit.",
           {"float8-scaling"}, {"current", "fixed", "blocks"}));
  all.push_back({"execution.float8_scales",
                 KeyType::integers,
                 "",
                 Value(std::vector<std::int64_t>{0, 0, 0}),
                 "With fixed scaling: the exponents of the powers of two by which activations, weights and "
                 "gradients are multiplied before they are cast.",
                 -32,
                 31,
                 {},
                 {"float8-scales"}});
  all.push_back(
      text("execution.float8_products", "weights",
           "With float8: which products multiply float8. weights: those with a weight, and their "
           "gradients. all: also products of two activations, as in attention, and caches of keys and values "
           "are held in float8.",
           {"float8-products"}, {"weights", "all"}));
  all.push_back(
      {"execution.float8_except",
       KeyType::texts,
       "",
       Value(Texts()),
       "With float8 and float4: patterns of operators that stay 16-bit, such as \"stem/*\" and \"head\".",
       -kNoLimit,
       kNoLimit,
       {},
       {"float8-except"}});
}

void addPrecision(std::vector<Key>& all) {
  all.push_back(
      text("execution.precision", "float32",
           "Type of samples, weights and activations. Sums within operators, statistics and losses "
           "stay float32. 32, 16 and bf16 are other names of the first three. float8: the factors "
           "of products with weights are cast to float8, as the keys float8_... say; everything "
           "else, the weights themselves among it, is float16 on IPUs and bfloat16 on other devices. float4: "
           "the same with numbers of four bits in blocks of 16 with a scale each (NVFP4), where the cards "
           "multiply them; fp4 is another name.",
           {"precision"},
           {"float32", "float16", "bfloat16", "float8", "float4", "32", "16", "bf16", "fp8", "fp4"}));
  addFloat8(all);
  all.push_back({"execution.float32_operators",
                 KeyType::texts,
                 "",
                 Value(Texts()),
                 "With float16 or bfloat16: ONNX names of operators (Gelu, LayerNormalization) that still "
                 "compute in float32. Their inputs are cast up and their results are cast down.",
                 -kNoLimit,
                 kNoLimit,
                 {},
                 {"float32-operators"}});
  all.push_back(boolean("execution.stochastic_rounding", false,
                        "With float16 or bfloat16: round up or down at random, without bias.",
                        {"stochastic-rounding"}));
  all.push_back(boolean("execution.floating_point_exceptions", false,
                        "End the run where an operator or an update makes an infinite number or a NaN from "
                        "finite numbers, and name it.",
                        {"floating-point-exceptions"}));
  all.push_back(
      text("execution.partials_type", "float32",
           "Type in which an IPU sums products of float16 numbers; float16 is faster and takes less memory. "
           "It affects emulated time and memory only: the computed numbers are summed in float32.",
           {"partials-type"}, {"float32", "float16"}));
  all.push_back(
      boolean("execution.fully_connected_pass", true,
              "Plan the three products of a trained layer together on an IPU, so that its weights keep one "
              "layout where that takes fewer cycles (PopART: enableFullyConnectedPass). It affects "
              "emulated time and memory only.",
              {"fully-connected-pass"}));
  all.push_back(
      boolean("execution.use_128bit_conv_unit_load", false,
              "Load the weights of products and convolutions 128 bits at a time on an IPU, from interleaved "
              "memory (PopLibs: use128BitConvUnitLoad). Otherwise it takes 64 bits at a time. It affects "
              "emulated time and memory only.",
              {"use-128bit-conv-unit-load"}));
}

}  // namespace

void addExecution(std::vector<Key>& all) {
  all.push_back(
      text("execution.strategy", "pipelined",
           "How stages share the work. pipelined: all stages work at once, on different micro-batches. "
           "sharded: one stage works at a time. serial_phased: the stages are phases that take turns on one "
           "device; streaming memory holds the tensors of the others. parallel_phased: phases alternate "
           "between devices of even and odd number; the idle ones load and store.",
           {"strategy"}, {"pipelined", "sharded", "serial_phased", "parallel_phased"}));
  all.push_back(
      boolean("execution.separate_backward_phase", false,
              "Phased strategies: run the last phase's backward pass as a phase of its own. Otherwise it "
              "follows its forward pass at once, and nothing is stored between them."));
  all.push_back(
      text("execution.schedule", "popart",
           "Order of micro-batches in a pipeline; `pipescope schedule` shows it. The other "
           "strategies have an order of their own. Cards that a file describes take 1f1b unless told "
           "otherwise, or interleaved-1f1b with chunks, as Megatron-LM does.",
           {"schedule"}));
  all.push_back(integer("execution.chunks", "", 0, 0, 1024,
                        "Stages on each device, for schedules that return to a device (interleaved-1f1b, "
                        "zb-v). Refused if a stage names its device. 0: the schedule decides.",
                        {"chunks"}));
  all.push_back({"execution.layers_per_stage",
                 KeyType::integers,
                 "",
                 Value(std::vector<std::int64_t>()),
                 "Number of the model's layers in each stage, as [3, 7, 7, 7], instead of [[stages]]. A "
                 "layer is a block whose name ends in a number. Blocks before the first layer join the first "
                 "stage; others join the layer before them.",
                 1,
                 1e9,
                 {},
                 {"layers-per-stage"}});
  all.push_back(integer(
      "execution.stages", "stages", 0, 0, 1024,
      "Number of stages into which the model is split, instead of [[stages]]. The stages are contiguous and "
      "take about the same time by the estimate of the device model. 0: the stages are as [[stages]] or "
      "layers_per_stage says. Without these, a builder's or an ONNX model is one stage, and each block of "
      "[[model.layers]] or [[model.blocks]] is a stage. With a number above 1, gradient_accumulation and "
      "inference.device_iterations are twice as large if nothing sets them, so that pipelines fill.",
      {"stages"}));
  all.push_back(integer(
      "execution.tensor_parallel", "ranks", 1, 1, 1024,
      "Chips that share the tensors of each layer: the first weight of a pair is divided by columns, the "
      "second by rows, and embedding and scores by vocabulary. Each place of the pipeline and each replica "
      "has so many chips, which are neighbours. Heads, widths and the vocabulary must be multiples of it "
      "where they are to be divided; what is not stays whole on every chip. Inference (mode = "
      "\"inference\") divides heads that are no multiple among fewer chips, and repeats each part.",
      {"tensor-parallel"}));
  all.push_back(boolean("execution.sequence_parallel", false,
                        "With tensor_parallel: divide also the rows between the products (norms, dropout, "
                        "residual sums), so that sums become a scatter and a gather of the same bytes.",
                        {"sequence-parallel"}));
  all.push_back(integer(
      "execution.context_parallel", "ranks", 1, 1, 1024,
      "Chips that share the positions of each sample, for long sequences. Each of them has as many of them. "
      "Each place of the pipeline and each replica has so many times the chips. The length of a sample must "
      "divide by it. Where a model generates one token, they share the tokens of its caches, whose number, "
      "the "
      "new one included, must divide by it.",
      {"context-parallel"}));
  all.push_back(
      text("execution.context_exchange", "gather",
           "With context_parallel: what attention exchanges. gather: each chip gathers the keys and "
           "values of all positions. heads: the chips exchange their positions for heads before "
           "attention and back after it, where the heads of keys divide by context_parallel. ring: keys and "
           "values go from chip to chip, and each computes with one part of them while it receives the next; "
           "it needs fused attention.",
           {"context-exchange"}, {"gather", "heads", "ring"}));
  all.push_back(
      text("execution.context_layout", "paired",
           "With context_parallel: which positions a chip has. paired: an early and a late part, so that all "
           "chips have equal work under a causal mask, where their length divides by twice as many parts. "
           "neighbours: positions beside each other, so that the last chip has the most work. It matters "
           "where kernels of fused attention leave out what the mask hides.",
           {"context-layout"}, {"paired", "neighbours"}));
  all.push_back(integer(
      "execution.expert_parallel", "ranks", 1, 1, 1024,
      "Chips that share the experts of each layer. Each of them takes micro-batches of its own, so that they "
      "count as replicas for everything but the experts, whose tokens they exchange. Each place of the "
      "pipeline and each replica has so many times the chips. The number of experts must divide by it.",
      {"expert-parallel"}));
  all.push_back(text("execution.axis_order", "auto",
                     "Order of the axes over neighbouring chips, innermost first: ranks of tensors, "
                     "positions and experts, then "
                     "replicas (dp) and places of the pipeline (pp). tp-cp-ep-dp-pp puts places farthest "
                     "apart, because they "
                     "exchange least, as Megatron-LM does. tp-cp-ep-pp-dp keeps the chips of a replica "
                     "together. auto: the first on "
                     "cards, the second on IPUs.",
                     {"axis-order"}, {"auto", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"}));
  all.push_back(
      text("execution.expert_load", "uniform",
           "With expert_parallel: how many tokens choose each expert, as the most loaded chip decides "
           "the time: uniform, \"zipf 1.2\" (expert i has 1 / i^1.2 of the first one's), a number "
           "for each expert (\"4, 1, 1, 1\"), or such lists for all layers with experts (\"4, 1; 1, 1\"). "
           "routed: `pipescope run` first computes some micro-batches with the weights that the run begins "
           "with, and takes the tokens that they route to each expert of each layer.",
           {"expert-load"}));
  all.push_back(text(
      "execution.expert_exchange", "auto",
      "Cards with expert_parallel: how tokens come to their experts. copies: each expert that a token chose "
      "gets a copy over the links, as with all-to-alls of NCCL (Megatron-LM: --moe-token-dispatcher-type "
      "alltoall). forwarded: a token goes once to each box with such an expert, and there once to each chip, "
      "as DeepEP and HybridEP do (--moe-token-dispatcher-type flex). auto: forwarded if the experts of a "
      "layer "
      "lie in several boxes.",
      {"expert-exchange"}, {"auto", "copies", "forwarded"}));
  all.push_back(
      boolean("execution.overlap_experts", false,
              "Cards with expert_parallel: the exchanges of a micro-batch's tokens with experts run beside "
              "the computing "
              "of another micro-batch (Megatron-LM: --overlap-moe-expert-parallel-comm), so that a pass "
              "takes as long as "
              "its computing or its exchanges, whichever take longer. It affects emulated time only.",
              {"overlap-experts"}));
  all.push_back(boolean(
      "execution.overlap_tensor", false,
      "Cards with tensor_parallel and sequence_parallel: gathers and scatters over the ranks run beside "
      "the products that use and make them, in as many parts as there are ranks (Megatron-LM: "
      "--tp-comm-overlap). It affects emulated time only.",
      {"overlap-tensor"}));
  all.push_back(
      text("execution.recorded_graphs", "auto",
           "Cards: which kernels the host starts as recorded graphs, so that it does not issue each of them "
           "(CUDA graphs; Megatron-LM: --cuda-graph-impl). none; all: a graph for each pass; or patterns of "
           "operators with commas between them: \"*/attention, */router\". auto: what the card's figure "
           "uses_graphs says. It affects emulated time only.",
           {"recorded-graphs"}));
  all.push_back({"execution.cuts", KeyType::texts, "", Value(Texts()),
                 "Names of the operators with which the stages after the first begin, in the order of the "
                 "model, instead of [[stages]]. `pipescope plan` writes them where a stage ends within a "
                 "block."});
  all.push_back(
      {"execution.cut_devices", KeyType::integers, "", Value(std::vector<std::int64_t>()),
       "Device of each stage that execution.cuts makes. A device may hold several stages. Empty: the "
       "schedule decides.",
       0, 4095});
  all.push_back(
      text("execution.recompute", "auto",
           "What a backward pass computes again instead of keeping it. pipeline keeps only the inputs of a "
           "stage. checkpoints also keeps the results that execution.checkpoints names. selective "
           "computes only the scores of attention again, as Megatron-LM does, or what "
           "execution.recompute_operators names, and keeps the rest. none keeps every "
           "activation. auto means pipeline for pipelined training with several stages on IPUs, and none "
           "otherwise. "
           "Results are computed again right before the backward pass uses them. The last stage uses its "
           "results at once, so it only computes again what lies before its last checkpoint.",
           {"recompute"}, {"auto", "pipeline", "checkpoints", "selective", "none"}));
  all.push_back(
      {"execution.checkpoints",
       KeyType::texts,
       "",
       Value(Texts()),
       "With recompute: patterns of operator names (layer2, */relu) whose results are kept and not computed "
       "again. The results between two checkpoints need memory at the same time.",
       -kNoLimit,
       kNoLimit,
       {},
       {"checkpoints"}});
  all.push_back({"execution.recompute_operators",
                 KeyType::texts,
                 "",
                 Value(Texts()),
                 "With recompute selective: patterns of operator names (\"*/activation\", \"*_norm\") whose "
                 "results are computed again instead of the scores of attention (Megatron-LM: "
                 "--recompute-modules).",
                 -kNoLimit,
                 kNoLimit,
                 {},
                 {"recompute-operators"}});
  all.push_back(text(
      "execution.fused_attention", "auto",
      "Whether software computes attention over a whole sequence without keeping its scores in memory, as "
      "FusedSDPA of Gaudis and FlashAttention do. auto: on Gaudis if the sequence has more than 1,024 "
      "tokens, because their programs for long sequences do so; on cards that a file describes from the "
      "figure fuses_attention_from on; never on IPUs. true: for sequences of any length. It affects emulated "
      "time and memory only: the computed numbers stay the same.",
      {"fused-attention"}, {"auto", "true", "false"}));
  const auto location = [&](const char* name, const char* help, Texts flags = {}) {
    all.push_back(boolean(std::string("execution.") + name, false, help, std::move(flags)));
  };
  location("offload_optimizer",
           "Keep the optimizer's state in streaming memory. Each weight update loads it and stores it again.",
           {"offload-optimizer", "offload-optimiser"});
  location("offload_weights", "Keep weights in streaming memory. Each pass loads them.", {"offload-weights"});
  location("offload_activations", "Keep the activations that backward passes need in streaming memory.",
           {"offload-activations"});
  location("offload_accumulators", "Keep the sums of gradients in streaming memory.",
           {"offload-accumulators"});
  all.push_back(integer("execution.offload_least_elements", "elements", 2, 1, 1e12,
                        "Tensors with fewer elements stay on the chip."));
  location(
      "shard_optimizer",
      "Replicated tensor sharding: each replica keeps and updates only its share of the optimizer's state.",
      {"shard-optimizer"});
  location("shard_weights",
           "Each replica keeps only its share of the weights. Each pass gathers them from all replicas.",
           {"shard-weights"});
  location("shard_accumulators",
           "Each replica keeps only its share of the sums of gradients. The gradients of each micro-batch "
           "are scattered over the replicas.",
           {"shard-accumulators"});
  all.push_back(
      integer("execution.zero", "", 0, 0, 3,
              "Stage of ZeRO, another way to say what replicas share out: 1 is shard_optimizer, 2 also "
              "shard_accumulators, 3 also shard_weights. A single replica keeps all. 0: as these keys say.",
              {"zero"}));
  all.push_back(integer("execution.shard_least_elements", "elements", 8192, 1, 1e12,
                        "Tensors with fewer elements are not sharded."));
  all.push_back(integer(
      "execution.io_tiles", "tiles", 0, 0, 1e5,
      "Tiles of each IPU that only carry data in and out: an even number from 32 to 192, or 0 for none.",
      {"io-tiles"}));
  location("overlap_io",
           "Copy from and to the host while the other tiles compute. This needs execution.io_tiles and a "
           "strategy other than pipelined.",
           {"overlap-io"});
  all.push_back(boolean("execution.numerics", true,
                        "Compute the numbers. Without, only time and memory are emulated.", {"numerics"}));
  all.push_back(text("execution.load_weights", "",
                     "File of weights (.npz, as save_weights writes it) to start from. If it holds the "
                     "optimizer's state, training continues where it stopped.",
                     {"load-weights"}));
  all.push_back(text("execution.save_weights", "",
                     "File to write after training: weights and optimizer state (.npz), or an ONNX model "
                     "with the trained weights (.onnx).",
                     {"save-weights"}));
  all.push_back(text("execution.metrics", "",
                     "File for the metrics of every call, with one JSON object in each line.", {"metrics"}));
  all.push_back(
      text("execution.metrics_prometheus", "",
           "File for the metrics so far in Prometheus' text format, as the textfile collector of its "
           "node exporter reads it (NAME.prom). It is replaced at most once a second.",
           {"metrics-prometheus"}));
  all.push_back(text("execution.metrics_tensorboard", "",
                     "Folder for the metrics of every call as scalars of TensorBoard. Each run adds an event "
                     "file.",
                     {"metrics-tensorboard"}));
  all.push_back(text("execution.mode", "all",
                     "What to run: all (training, then inference), or only one of them.", {"mode"},
                     {"all", "training", "inference"}));
  all.push_back(integer("execution.seed", "", 42, 0, 9007199254740992.0,
                        "Seed of the initial weights, the shuffling and all other random numbers.",
                        {"seed"}));
  all.push_back(integer("execution.threads", "", 0, 0, 1024, "Host threads; 0: all cores.", {"threads"}));
  all.push_back(integer("execution.instances", "processes", 1, 1, 4096,
                        "Processes that compute the replicas together. `pipescope poprun` sets it; a "
                        "configuration leaves it out."));
  all.push_back(
      text("execution.record", "steps",
           "What the profile holds. off: only summary figures. stages: when each stage runs. steps: also the "
           "steps within each stage. tiles: also what every tile does in each step.",
           {"record"}, {"off", "stages", "steps", "tiles"}));
  all.push_back(
      real("execution.available_memory_proportion", "fraction", 0.6, 0.001, 1,
           "Share of an IPU's tile memory that the temporaries of one product or convolution may take.",
           {"available-memory-proportion"}));
  all.push_back(text("execution.record_replicas", "speeds",
                     "Replicas in the profile: one of each speed (speeds), or all.", {"record-replicas"},
                     {"speeds", "all"}));
  addPrecision(all);
  all.push_back(boolean("execution.require_fit", false,
                        "End with exit status 1 if the model does not fit in memory.", {"require-fit"}));
}

void addTrainingPrecision(std::vector<Key>& all) {
  all.push_back(boolean("training.master_weights", false,
                        "With float16 or bfloat16: the optimizer updates a float32 copy of the weights.",
                        {"master-weights"}));
  all.push_back(text("training.accumulator", "float32", "Type in which gradients are accumulated.",
                     {"accumulator"}, {"float32", "float16"}));
  all.push_back(text(
      "training.gradient_buffers", "auto",
      "Whether gradients are added into buffers that stay for the whole run even if one micro-batch makes an "
      "update, as Megatron-LM and DeepSpeed do. The buffers have the type of training.accumulator. With "
      "master_weights, an update then copies narrower sums to float32 first. Stages keep their last input "
      "until the next one arrives. Otherwise gradients of a single micro-batch take memory only from the "
      "backward pass to the update. auto: true with master_weights on cards that a file describes. It "
      "affects "
      "emulated time and memory only.",
      {"gradient-buffers"}, {"auto", "true", "false"}));
  all.push_back(text(
      "training.reduction", "mean",
      "Whether the optimizer gets the mean or the sum of the gradients of all micro-batches and replicas.",
      {"reduction"}, {"mean", "sum"}));
  all.push_back(text(
      "training.mean_strategy", "auto",
      "How the mean is formed. post divides the sum at the end. running keeps a running mean, which cannot "
      "overflow a float16 accumulator. auto is running with a float16 accumulator, and post otherwise.",
      {"mean-strategy"}, {"auto", "post", "running"}));
  all.push_back(real("training.loss_scaling", "", 1, 0x1p-24, 0x1p+60,
                     "Factor of the loss, by which gradients are divided again, so that small gradients do "
                     "not vanish in float16. With automatic_loss_scaling: the factor to start with.",
                     {"loss-scaling"}));
  all.push_back(boolean("training.automatic_loss_scaling", false,
                        "Halve the loss scale when gradients come near the largest float16 number, and "
                        "double it when none does.",
                        {"automatic-loss-scaling"}));
  all.push_back(integer("training.loss_scaling_period", "updates", 1, 1, 1e9,
                        "automatic_loss_scaling: updates between two changes of the scale."));
  all.push_back(
      real("training.loss_scaling_threshold", "fraction", 1e-7, 0, 1,
           "automatic_loss_scaling: the scale is halved if the share of large elements is above this."));
}

}  // namespace pipescope::config::table
