// Training throughput of the MNIST sample with and without recording, and emulation alone; whole runs in turn
// (A B C A B C …), medians and ratios. Usage: recording_bench [ROUNDS] [THREADS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "app/run/run.h"

namespace {

using pipescope::config::Configuration;
using pipescope::config::Origin;

struct Variant {
  const char* name;
  const char* numerics;
  const char* record;
  const char* epochs;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Samples per second of host time over the whole run.
double runOnce(const Variant& variant, const std::string& threads, const std::string& profile) {
  auto configuration = Configuration::read(PIPESCOPE_SOURCE_DIR "/samples/mnist/pipelined.toml");
  if (!configuration.ok()) {
    fmt::print(stderr, "{}\n", configuration.error().message);
    std::exit(2);
  }
  for (const auto& [key, value] : std::map<std::string, std::string>{{"execution.mode", "training"},
                                                                     {"execution.numerics", variant.numerics},
                                                                     {"execution.record", variant.record},
                                                                     {"execution.threads", threads},
                                                                     {"training.epochs", variant.epochs}}) {
    (void)configuration->setText(key, value, Origin::flag);
  }
  pipescope::base::SilentProgress progress;
  const auto start = std::chrono::steady_clock::now();
  const auto result = pipescope::app::runConfiguration(*configuration, {profile, "recording_bench"}, progress);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(2);
  }
  return 60000.0 * std::atof(variant.epochs) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::string threads = argc > 2 ? argv[2] : "0";
  const Variant variants[] = {{"numerics, record steps", "true", "steps", "1"},
                              {"numerics, record off", "true", "off", "1"},
                              {"emulation alone, record steps", "false", "steps", "3"},
                              {"emulation alone, record off", "false", "off", "3"}};
  const std::string profile =
      (std::filesystem::temp_directory_path() / "pipescope_recording_bench.pop").string();
  runOnce(variants[0], threads, profile);  // data generated, caches warm
  std::map<std::string, std::vector<double>> speeds;
  for (int round = 0; round < rounds; ++round) {
    for (const Variant& variant : variants)
      speeds[variant.name].push_back(runOnce(variant, threads, profile));
  }
  fmt::print("{:<32} {:>14} {:>10}\n", "variant", "samples/s", "÷ first");
  for (const Variant& variant : variants) {
    fmt::print("{:<32} {:>14.0f} {:>10.3f}\n", variant.name, median(speeds[variant.name]),
               median(speeds[variant.name]) / median(speeds[variants[0].name]));
  }
  std::filesystem::remove(profile);
  return 0;
}
