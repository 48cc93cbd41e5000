// Keys of [training] and [inference].
#include "engine/config/key_table.h"

namespace pipescope::config::table {
namespace {

void addOptimizer(std::vector<Key>& all) {
  const auto setting = [&](const char* name, double fallback, double least, double most, const char* help,
                           Texts flags = {}) {
    all.push_back(real(std::string("training.") + name, "", fallback, least, most, help, std::move(flags)));
  };
  all.push_back(text("training.optimizer", "adamw", "Weight update rule.", {"optimizer"},
                     {"adam", "adamax", "adamw", "lamb", "lars", "rmsprop", "sgd"}));
  setting("learning_rate", 1e-3, 0, 1e6, "Step of the optimizer.", {"learning-rate"});
  setting(
      "weight_decay", 0, 0, 1e6,
      "Decay of the weights; not given: the optimizer's own default (adamw, lamb 0.01; lars 1e-4; others 0).",
      {"weight-decay"});
  all.push_back(
      boolean("training.decay_vectors", true,
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
  setting(
      "epsilon", 1e-8, 0, 1,
      "adam, adamw, lamb, rmsprop: added to the root of the second moment; adamax: to the largest gradient; "
      "lars: to the norms (its own default: 0).");
  all.push_back(boolean("training.centered", false, "rmsprop: the mean square less the squared mean."));
  all.push_back(boolean("training.bias_correction", true, "lamb: moments are divided by 1 - beta^t."));
  setting("max_weight_norm", 65500, 1e-30, 1e30, "lamb: weight norms above it count as this.");
  setting("trust_coefficient", 1e-3, 1e-12, 1e3,
          "lars: factor of the adaptation by layer. A step moves a layer by about learning_rate × this × its "
          "norm: "
          "learning rates of 1 to 10 are usual.");
  setting("clip_norm", 0, 0, 1e30,
          "Gradients whose norm over all parameters is larger are scaled down to it; 0: never.",
          {"clip-norm"});
  all.push_back(text("training.lr_schedule", "constant", "How the learning rate moves.", {"lr-schedule"},
                     {"constant", "cosine", "exponential", "linear", "multi_step", "polynomial", "step"}));
  all.push_back(
      text("training.lr_unit", "update",
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
  all.push_back({"training.lr_milestones", KeyType::integers, "of lr_unit",
                 Value(std::vector<std::int64_t>()), "multi_step: where the factors are.", 0, 1e12});
}

}  // namespace

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
