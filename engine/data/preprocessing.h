#pragma once
// Turns stored bytes into the numbers that a network reads.
#include <array>
#include <cstdint>
#include <vector>

#include "engine/config/setting_key.h"
#include "profiler/base/result.h"

namespace pipescope::data {

/// x ← byte; scaled: x ← x ÷ 255; normalised: x ← (x − mean) ÷ deviation. The defaults are MNIST's mean and
/// standard deviation after scaling, as in the PyTorch and PopTorch examples.
struct Preprocessing {
  bool scale = true;
  bool normalise = true;
  double mean = 0.1307;
  double deviation = 0.3081;
};

/// The number that each byte becomes. Fails if mean or deviation is not finite, or if the deviation is not
/// above 0.
base::Result<std::array<float, 256>> preprocessingTable(const Preprocessing& preprocessing);

/// The settings of data sets that hold bytes, with the mean and deviation of MNIST's digits as defaults.
std::vector<config::SettingRow> preprocessingSettings();

}  // namespace pipescope::data
