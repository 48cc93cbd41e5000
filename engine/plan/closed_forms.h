#pragma once
// Closed forms for runs over all dimensions: times and bytes that no run is below, and times that a run is
// expected to take. Sources: Megatron-LM (arXiv 2104.04473, section 2.2) for bubbles, ZeRO (arXiv 1910.02054)
// for memory, Qi et al. (arXiv 2401.10241) for zero-bubble schedules.
#include <cstdint>
#include <string>

namespace pipescope::plan {

/// Time that a pipeline of `places` places needs at least for `microBatches` micro-batches, if all stages
/// together take `work` for one of them and each micro-batch goes through the stages once, there and back.
/// Stage s cannot begin before the stages in front of it had their forward passes, nor end before they have
/// their last backward passes, so that the time is at least G·w(s) + Σ w(i < s). The split with the smallest
/// maximum of these gives work ÷ (1 − (1 − 1/G)^p). It holds for every split.
double leastPipelineTime(double work, std::int64_t microBatches, std::int64_t places);

/// The same where the stages but the last one also do a part of the work again (`again` over all stages): the
/// longest place of every split takes at least this for a micro-batch.
double leastLongestPlace(double work, double again, std::int64_t places);

/// Bytes that ranks of a place hold the whole time, per kind.
struct HeldBytes {
  double weights = 0, optimizer = 0, accumulators = 0;
};
/// Bytes that a rank of the fullest place holds at least, if `all` are those of a rank with all layers. The
/// replicas share out the optimizer's state from ZeRO stage 1 on, the accumulators from stage 2 and the
/// weights from stage 3. One micro-batch needs no accumulators.
double leastHeldBytes(const HeldBytes& all, std::int64_t places, std::int64_t replicas, std::int64_t zero,
                      std::int64_t microBatches);

/// Number of stage times that fill and drain add to those of the micro-batches, as expected with a schedule:
/// p − 1 for most, less where each place has several stages or weight gradients fill the gaps.
double expectedFill(const std::string& schedule, std::int64_t places, std::int64_t chunks);
/// Micro-batches whose activations the first place holds at a time, as expected.
double expectedInFlight(const std::string& schedule, std::int64_t places, std::int64_t chunks,
                        std::int64_t microBatches);

}  // namespace pipescope::plan
