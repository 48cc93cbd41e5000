#pragma once
// Factors of single micro-batches that take longer or shorter than others, for instance because their
// sequences differ in length.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::emulate {

/// Reads training.micro_batch_costs and returns one factor for each micro-batch of an iteration; empty: all
/// are 1. The text is a list of factors, which repeats ("1, 0.5, 2"), or the distribution of sequence
/// lengths: uniform(LEAST, MOST), normal(MEAN, DEVIATION) or lognormal(MEDIAN, SIGMA). A factor is then the
/// drawn length ÷ the mean of the distribution, in steps of 1/32. The numbers depend on the seed and the
/// micro-batch alone. Errors say what is wrong with the text.
base::Result<std::vector<double>> microBatchCosts(const std::string& text, std::int64_t microBatches,
                                                  std::uint64_t seed);

}  // namespace pipescope::emulate
