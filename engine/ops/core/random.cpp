#include "engine/ops/core/random.h"

#include <algorithm>

#include "profiler/base/philox.h"

namespace pipescope::ops {
namespace {

std::uint32_t low(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
std::uint32_t high(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// FNV-1a.
std::uint64_t hashOf(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

RandomSequence::RandomSequence(const RunIdentity& identity, std::string_view name) {
  const std::uint64_t key =
      mix(mix(mix(identity.seed) ^ hashOf(name)) ^ static_cast<std::uint64_t>(identity.replica));
  key_ = {low(key), high(key)};
  place_ = {low(static_cast<std::uint64_t>(identity.iteration)),
            low(static_cast<std::uint64_t>(identity.microBatch))};
}

std::array<std::uint32_t, 4> RandomSequence::block(std::uint64_t index) const {
  return base::philox4x32({low(index), high(index), place_[0], place_[1]}, key_);
}

void RandomSequence::words(std::span<std::uint32_t> words, std::uint64_t block) const {
  for (std::size_t i = 0; i < words.size(); i += 4) {
    const std::array<std::uint32_t, 4> four = this->block(block + i / 4);
    std::ranges::copy(four, words.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void RandomSequence::uniform(std::span<float> values, float bound, std::uint64_t first) const {
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t at = first + i;
    if (i == 0 || at % 4 == 0) words = block(at / 4);
    const float unit = static_cast<float>(words[at % 4] >> 8) * 0x1p-24F;  // a number of [0, 1)
    values[i] = (2 * unit - 1) * bound;
  }
}

}  // namespace pipescope::ops
