// Keys of [training] and [inference].
#include "engine/config/key_rows.h"

namespace pipescope::config::table {
void addTraining(std::vector<Key>& all) {
  all.push_back(integer("training.micro_batch_size", "samples", 1, 1, 1e6, "Samples in one micro-batch.",
                        {"micro-batch-size", "batch-size"}));
  all.push_back(integer("training.gradient_accumulation", "micro-batches", 1, 1, 1e6,
                        "Micro-batches whose gradients are averaged before one weight update.",
                        {"gradient-accumulation"}));
  all.push_back(integer("training.device_iterations", "", 1, 1, 1e6, "Weight updates per call from the host.",
                        {"device-iterations"}));
  all.push_back(
      text("training.micro_batch_costs", "",
           "How long the compute of single micro-batches takes, if they differ: factors of the modelled "
           "time, one for each micro-batch of an iteration, which repeat (\"1, 0.5, 2\"). Or the "
           "distribution of sequence lengths, from which a length is drawn for each: uniform(LEAST, "
           "MOST), normal(MEAN, DEVIATION) or lognormal(MEDIAN, SIGMA); the factor is length ÷ mean. "
           "Only times depend on it, not memory, transfers or numbers. Empty: all take equally long.",
           {"micro-batch-costs"}));
  all.push_back(integer("training.epochs", "", 1, 1, 1e6, "Passes over the training data.", {"epochs"}));
  all.push_back(integer("training.replication_factor", "replicas", 1, 1, kMostChips,
                        "Copies of all stages that train together, each on its own devices with other "
                        "samples. Gradients are summed over them before each update. If only system.devices "
                        "is given, there are as many replicas as fit on the devices.",
                        {"replication-factor"}));
  all.push_back(boolean("training.check_replicas", false,
                        "Each replica keeps its own weights and optimizer state, and all are compared at the "
                        "end. Otherwise the replicas in one process share them.",
                        {"check-replicas"}));
  all.push_back(integer(
      "training.input_replica_grouping", "replicas", 1, 1, kMostChips,
      "Number of neighbouring replicas that get the same samples. It must divide the number of replicas.",
      {"input-replica-grouping"}));
  all.push_back(
      boolean("training.merge_collectives", true,
              "Gradients of a stage are summed over replicas together, in one collective for each type of "
              "number or in as many as the system's framework makes. Without, each parameter has a "
              "collective of its own, as in PopART unless told otherwise.",
              {"merge-collectives"}));
  all.push_back(
      boolean("training.reduce_scatter", true,
              "With shard_optimizer, shard_weights or shard_accumulators: each replica receives only the sum "
              "of its share of the gradients. Without, it receives the whole sum, as with DeepSpeed's "
              "reduce_scatter = false.",
              {"reduce-scatter"}));
  all.push_back(
      boolean("training.overlap_collectives", true,
              "Where devices can sum gradients over replicas beside the backward pass, they do so. Without, "
              "the sum begins after it. IPUs always begin after it.",
              {"overlap-collectives"}));
  all.push_back(integer("training.norm_replicas", "replicas", 1, 1, kMostChips,
                        "Number of neighbouring replicas that share the statistics of batch norms. It must "
                        "divide the number of replicas.",
                        {"norm-replicas"}));
  all.push_back(
      text("training.loss", "cross_entropy",
           "Loss at the end of the last block. ONNX models can also use nll (of log-probabilities), mse, bce "
           "(of probabilities) and model (a loss in the graph itself, which is the default where there is "
           "one). Scores of classes may have them along the last axis, as language models do.",
           {"loss"}, {"cross_entropy", "nll", "mse", "bce", "model"}));
  all.push_back(text("training.loss_output", "",
                     "ONNX models with training.loss = \"model\": name of the output that is the loss. All "
                     "other outputs are returned to the host. Empty: the loss is found."));
  all.push_back(integer("training.ignore_index", "", -100, -1e9, 1e9,
                        "ONNX models with cross_entropy or nll: label that loss and accuracy leave out, as "
                        "ignore_index in PyTorch. Other labels below 0 are refused.",
                        {"ignore-index"}));
  all.push_back(
      real("training.learning_rate", "", 1e-3, 0, 1e6, "Learning rate of the optimizer.", {"learning-rate"}));
  all.push_back(boolean("training.decay_vectors", true,
                        "Apply weight decay also to parameters with one axis (biases, norms). Without, lars "
                        "does not adapt them either.",
                        {"decay-vectors"}));
  all.push_back(real("training.clip_norm", "", 0, 0, 1e30,
                     "If the norm of all gradients together is larger, they are scaled down to it. 0: never.",
                     {"clip-norm"}));
  all.push_back(text("training.lr_unit", "update",
                     "What the schedule counts: weight updates, or epochs. With epochs the rate changes only "
                     "between two of them.",
                     {"lr-unit"}, {"update", "epoch"}));
  all.push_back(integer("training.lr_warmup", "of lr_unit", 0, 0, 1e12,
                        "Length of a linear rise of the rate, before the schedule begins.", {"lr-warmup"}));
  addTrainingPrecision(all);
  all.push_back(text("training.output_mode", "final",
                     "Which losses and predictions a call returns: those of all micro-batches, of the last "
                     "one (final), of every n-th (every_n), or their sum.",
                     {"output-mode"}, {"all", "final", "sum", "every_n"}));
  all.push_back(integer("training.output_period", "micro-batches", 1, 1, 1e6,
                        "every_n: one of so many micro-batches is returned.", {"output-period"}));
  all.push_back({"training.returned_gradients", KeyType::texts, "", Value(Texts()),
                 "Names of weights whose gradients calls of a program return, as outputs behind those of the "
                 "model: one of each micro-batch, before gradients are added up, and with the loss scale if "
                 "there is one."});
  all.push_back(
      boolean("training.shuffle", true, "Draw a new order of the samples for each epoch.", {"shuffle"}));
  all.push_back(integer("training.validation_interval", "epochs", 0, 0, 1e6,
                        "Number of epochs after which the model infers over the test data. 0: never.",
                        {"validation-interval"}));
}

void addInference(std::vector<Key>& all) {
  all.push_back(integer("inference.micro_batch_size", "samples", 1, 1, 1e6, "Samples in one micro-batch.",
                        {"inference-micro-batch-size", "test-batch-size"}));
  all.push_back(integer("inference.device_iterations", "", 1, 1, 1e6,
                        "Micro-batches per call. The pipeline runs over them without a break.",
                        {"inference-device-iterations"}));
  all.push_back(
      text("inference.host", "",
           "Host of the executables for inference and validation, by its name as in host.name. Its "
           "figures take the place of those of that host; what [host] itself states holds for both. "
           "none: no host. Empty: the host of training.",
           {"inference-host"}));
  all.push_back(integer("inference.replication_factor", "replicas", 1, 1, kMostChips,
                        "Copies of all stages that infer side by side, each with other samples.",
                        {"inference-replication-factor"}));
  all.push_back(integer("inference.input_replica_grouping", "replicas", 1, 1, kMostChips,
                        "Number of neighbouring replicas that get the same samples. It must divide the "
                        "number of replicas."));
  all.push_back(text("inference.output_mode", "all",
                     "Which predictions a call returns: those of all micro-batches, of the last one (final), "
                     "of every n-th (every_n), or their sum.",
                     {}, {"all", "final", "sum", "every_n"}));
  all.push_back(integer("inference.output_period", "micro-batches", 1, 1, 1e6,
                        "every_n: one of so many micro-batches is returned."));
  all.push_back(integer("inference.new_tokens", "tokens", 0, 0, 1e6,
                        "With the builder decoder: tokens that each sample gets after its prompt, which has "
                        "model.sequence tokens. The run computes the prompt once and then one decoding step "
                        "for each further token, and reports the time to the first token, the time per token "
                        "and the output tokens per second. 0: model.phase says what runs.",
                        {"new-tokens"}));
  all.push_back(integer("inference.cache_bucket", "tokens", 0, 0, 1e6,
                        "With new_tokens: a decoding step attends over a cache whose length is a multiple of "
                        "so many tokens, as software with static shapes does. Each length is an executable. "
                        "0: 128, doubled until there are at most 16 lengths.",
                        {"cache-bucket"}));
  all.push_back(integer("inference.gradient_accumulation", "", 1, 1, 1e6,
                        "It must be 1, because inference has no gradients. Use device_iterations instead.",
                        {"inference-gradient-accumulation"}));
}

}  // namespace pipescope::config::table
