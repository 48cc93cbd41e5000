#pragma once
// Random numbers that are equal on every machine and with every standard library. They are counter-based: any
// number of a sequence can be computed without the ones before it.
#include <array>
#include <cstdint>

namespace pipescope::data {

/// The purpose of a sequence. Two purposes never share numbers, whatever their seeds and streams are.
enum class RandomPurpose : std::uint32_t {
  shuffle = 1,
  trainDigits = 2,
  testDigits = 3,
  syntheticSamples = 4,
  syntheticLabels = 5
};

/// One sequence, keyed by (seed, purpose, stream); the stream is an epoch, or the index of a sample.
class DataRandom {
 public:
  DataRandom(std::uint64_t seed, RandomPurpose purpose, std::uint64_t stream);

  std::uint32_t next();
  /// Uniform in 0 … bound − 1, without bias (Lemire, "Fast random integer generation in an interval", 2019);
  /// `bound` is at least 1.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1), a multiple of 2⁻²⁴.
  float unit();
  /// Uniform in [low, high).
  float between(float low, float high);
  /// Sum of three uniforms: bell-shaped around 0, within (−1.5, 1.5), standard deviation ½.
  float bell();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace pipescope::data
