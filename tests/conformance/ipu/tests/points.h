#pragma once
// Compares the emulation with published measurements, and prints each comparison as a line of the test's
// output.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::conformance {

/// Prints the point; returns ln(ours / theirs).
[[nodiscard]] inline double comparePoint(const std::string& point, double ours, double theirs) {
  const double error = std::log(ours / theirs);
  std::printf("%-64s %13.1f measured %13.1f  ln %+.2f\n", point.c_str(), ours, theirs, error);
  return error;
}

/// One chip with its plans.
class EmulatedChip {
 public:
  /// `code`: whether vertices and control code are compiled, and so take memory; an IPU Model may leave that
  /// out.
  explicit EmulatedChip(const std::string& chip, bool code = true)
      : chip_(devices::ipu::readChip(devices::DeviceFiles({}).chip(chip).value()).value()), planner_(chip_) {
    chip_.compilesCode = code;
  }
  EmulatedChip(const EmulatedChip&) = delete;

  devices::ipu::LoweredWork lower(const ops::WorkItem& item) {
    return devices::ipu::lowerWork(item, context()).value();
  }
  /// [m,k]·[k,n], summed in its own type
  static ops::Contraction product(std::int64_t m, std::int64_t k, std::int64_t n, graph::ElementType type) {
    ops::Contraction c;
    c.field = c.output = {m};
    c.kernel = c.stride = c.dilation = {1};
    c.padding = {0, 0};
    c.inputChannels = k;
    c.outputChannels = n;
    c.type = c.accumulate = type;
    return c;
  }
  devices::ipu::IpuLoweringContext context() {
    return {.chip = chip_,
            .planner = planner_,
            .memoryProportion = 0.6,
            .hostBytesPerSecond = chip_.hostBytesPerSecond,
            .what = "point"};
  }
  const devices::ipu::Chip& chip() const { return chip_; }

 private:
  devices::ipu::Chip chip_;
  devices::ipu::Planner planner_;
};

}  // namespace pipescope::conformance
