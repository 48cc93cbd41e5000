#pragma once
// The keys that a sweep varies, and their combinations.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/configuration.h"

namespace pipescope::app {

/// One key with the values that it takes, as texts of a configuration.
struct VariedKey {
  std::string key;  ///< path, such as training.micro_batch_size
  std::vector<std::string> values;
};

/// The key that a word means: its path, or the name of its flag with _ or -, such as micro_batch_size. The
/// error suggests a known key.
base::Result<std::string> keyNamed(const config::KeyTable& keys, std::string_view word);

/// Reads "key=a,b,c" or a range: "key=1..8" (every whole number), "key=1..64*2" (each twice the one before)
/// or "key=10..50+10" (each 10 more). Commas within brackets and quotes separate nothing. Each value is
/// checked against its key. Errors: no "=", an unknown key, no value, a value twice, a range that never ends
/// or has too many values.
base::Result<VariedKey> parseVaried(const config::KeyTable& keys, const std::string& text);

/// Reads several, and refuses a key that is varied twice.
base::Result<std::vector<VariedKey>> parseAllVaried(const config::KeyTable& keys,
                                                    const std::vector<std::string>& texts);

/// More combinations are refused.
inline constexpr std::int64_t kMostCombinations = 100'000;

/// The number of combinations. The error names it if there are more than kMostCombinations.
base::Result<std::int64_t> countCombinations(const std::vector<VariedKey>& keys);

/// The values of a combination, one for each key. The last key changes fastest.
std::vector<std::string> combination(const std::vector<VariedKey>& keys, std::int64_t index);

/// The configuration with these values. The error names the combination.
base::Result<config::Configuration> applyCombination(const config::Configuration& configuration,
                                                     const std::vector<VariedKey>& keys,
                                                     const std::vector<std::string>& values);

}  // namespace pipescope::app
