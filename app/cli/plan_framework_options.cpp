#include "app/cli/plan_framework_options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pipescope::cli {

base::Result<std::string> megatronOptions(const FrameworkRun& run) {
  if (run.zero > 1) {
    return base::badInput(fmt::format(
        "--write megatron has words for ZeRO stage 1 only (--use-distributed-optimizer), but the plan has "
        "stage {}: plan with --zero 0 or 1.",
        run.zero));
  }
  std::string text;
  const auto number = [&](const char* option, std::int64_t value) {
    text += fmt::format("--{} {}\n", option, value);
  };
  number("tensor-model-parallel-size", run.tensor);
  if (run.sequence) text += "--sequence-parallel\n";
  if (run.context > 1) {
    number("context-parallel-size", run.context);
    text += run.exchangesHeads ? "--cp-comm-type a2a\n" : "--cp-comm-type allgather\n";
  }
  if (run.experts > 1) number("expert-model-parallel-size", run.experts);
  number("micro-batch-size", run.microBatchSize);
  number("global-batch-size", run.samples());
  if (run.recomputedLayers > 0) {
    text += "--recompute-granularity full\n--recompute-method uniform\n";
    number("recompute-num-layers", run.recomputedLayers);
  }
  if (run.recomputesScores) text += "--recompute-granularity selective\n";
  if (run.zero == 1) text += "--use-distributed-optimizer\n";
  if (run.precision == "bfloat16") text += "--bf16\n";
  if (run.precision == "float16") text += "--fp16\n";
  return text;
}

base::Result<std::string> deepSpeedOptions(const FrameworkRun& run) {
  if (run.zero > 1 && run.places > 1) {
    return base::badInput(
        fmt::format("--write deepspeed: DeepSpeed's pipelines do not work with ZeRO stage {}: plan with "
                    "--zero 0 or 1, or with --stages 1.",
                    run.zero));
  }
  if (run.context > 1 || run.experts > 1) {
    return base::badInput(
        "--write deepspeed: DeepSpeed divides positions and experts in the code of the model "
        "(DistributedAttention, "
        "MoE with ep_size), not in its configuration: plan with --context-parallel 1 and --expert-parallel "
        "1, or "
        "write another framework's options.");
  }
  if (run.recomputesScores) {
    return base::badInput(
        "--write deepspeed: DeepSpeed has no option that computes only the scores of attention again: plan "
        "with "
        "--recompute none or checkpoints.");
  }
  nlohmann::ordered_json json;
  json["train_batch_size"] = run.samples();
  json["train_micro_batch_size_per_gpu"] = run.microBatchSize;
  json["gradient_accumulation_steps"] = run.microBatches;
  if (run.precision == "bfloat16") json["bf16"]["enabled"] = true;
  if (run.precision == "float16") json["fp16"]["enabled"] = true;
  constexpr std::int64_t kBucket = 500'000'000;  // elements: DeepSpeed's default
  nlohmann::ordered_json& zero = json["zero_optimization"];
  zero["stage"] = run.zero;
  if (run.zero > 0) {
    zero["reduce_scatter"] = true;
    zero["overlap_comm"] = true;
    zero["reduce_bucket_size"] = kBucket;
    zero["allgather_bucket_size"] = kBucket;
  }
  if (run.tensor > 1) json["tensor_parallel"]["autotp_size"] = run.tensor;
  if (run.places > 1) {
    json["pipeline"]["stages"] = run.places;
    json["pipeline"]["activation_checkpoint_interval"] = run.recomputedLayers;
  }
  return json.dump(2) + "\n";
}

}  // namespace pipescope::cli
