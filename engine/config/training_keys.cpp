// Keys of [training] and [inference].
#include "engine/config/key_rows.h"

namespace pipescope::config::table {
void addTraining(std::vector<Key>& all) {
  all.push_back(integer("training.micro_batch_size", "samples", 1, 1, 1e6, "Samples of one micro-batch.",
                        {"micro-batch-size", "batch-size"}));
  all.push_back(integer("training.gradient_accumulation", "micro-batches", 1, 1, 1e6,
                        "Micro-batches whose gradients are averaged before one weight update.",
                        {"gradient-accumulation"}));
  all.push_back(integer("training.device_iterations", "", 1, 1, 1e6, "Weight updates per call from the host.",
                        {"device-iterations"}));
  all.push_back(integer("training.epochs", "", 1, 1, 1e6, "Passes over the training data.", {"epochs"}));
  all.push_back(
      integer("training.replication_factor", "replicas", 1, 1, 4096,
              "Copies of all stages that train together, each on devices of its own with other samples; "
              "gradients are summed over them before each update. Not given, but system.devices is: as many "
              "as there are devices for.",
              {"replication-factor"}));
  all.push_back(
      boolean("training.check_replicas", false,
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
  all.push_back(
      real("training.learning_rate", "", 1e-3, 0, 1e6, "Step of the optimizer.", {"learning-rate"}));
  all.push_back(
      boolean("training.decay_vectors", true,
              "Decay parameters of one axis (biases, norms) too; without, lars does not adapt them either.",
              {"decay-vectors"}));
  all.push_back(real("training.clip_norm", "", 0, 0, 1e30,
                     "Gradients whose norm over all parameters is larger are scaled down to it; 0: never.",
                     {"clip-norm"}));
  all.push_back(
      text("training.lr_unit", "update",
           "What the schedule counts: weight updates, or epochs (the rate is then the same within one).",
           {"lr-unit"}, {"update", "epoch"}));
  all.push_back(integer("training.lr_warmup", "of lr_unit", 0, 0, 1e12,
                        "The rate rises linearly over so many, before the schedule begins.", {"lr-warmup"}));
  addTrainingPrecision(all);
  all.push_back(text(
      "training.output_mode", "final",
      "Micro-batches whose losses and predictions a call returns: all, final (the last), sum or every_n.",
      {"output-mode"}, {"all", "final", "sum", "every_n"}));
  all.push_back(
      integer("training.output_period", "micro-batches", 1, 1, 1e6, "every_n: period.", {"output-period"}));
  all.push_back(boolean("training.shuffle", true, "New order of the samples in each epoch.", {"shuffle"}));
  all.push_back(integer("training.validation_interval", "epochs", 0, 0, 1e6,
                        "Infer over the test data after every so many epochs; 0: never.",
                        {"validation-interval"}));
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

}  // namespace pipescope::config::table
