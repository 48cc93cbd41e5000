#include "engine/data/data_random.h"

#include "profiler/base/check.h"
#include "profiler/base/philox.h"

namespace pipescope::data {

namespace {

std::uint32_t low32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32U);
}

}  // namespace

DataRandom::DataRandom(std::uint64_t seed, RandomPurpose purpose, std::uint64_t stream)
    : key_{low32(seed), high32(seed)},
      counter_{0, static_cast<std::uint32_t>(purpose), low32(stream), high32(stream)} {}

std::uint32_t DataRandom::next() {
  if (used_ == block_.size()) {
    block_ = base::philox4x32(counter_, key_);
    // 2³² blocks are 64 GiB of numbers. No sample or shuffle needs that many.
    ++counter_[0];
    PIPESCOPE_CHECK(counter_[0] != 0, "a random sequence is used up");
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t DataRandom::below(std::uint64_t bound) {
  PIPESCOPE_CHECK(bound >= 1, "a random number below 0 was asked for");
  if (bound <= 0xFFFFFFFFU) {
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (low32(product) < bound) {
      const std::uint64_t threshold = (std::uint64_t{1} << 32U) % bound;
      while (low32(product) < threshold) product = std::uint64_t{next()} * bound;
    }
    return high32(product);
  }
  // Bounds above 32 bits: draws numbers with as many bits as bound − 1 until one is below the bound. This
  // takes at most 2 attempts on average.
  std::uint64_t mask = bound - 1;
  for (unsigned shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  while (true) {
    const std::uint64_t high = next();
    const std::uint64_t candidate = ((high << 32U) | next()) & mask;
    if (candidate < bound) return candidate;
  }
}

float DataRandom::unit() {
  return static_cast<float>(next() >> 8U) * 0x1p-24F;
}

float DataRandom::between(float low, float high) {
  const float value = low + (high - low) * unit();
  return value < high ? value : low;  // rounding may give `high`, which the interval excludes
}

float DataRandom::bell() {
  const float a = unit();
  const float b = unit();
  const float c = unit();
  return a + b + c - 1.5F;
}

}  // namespace pipescope::data
