// Measures what recording costs in a run of the MNIST sample. It runs pairs with and without recording in
// turn (A B, B A …), so that other work of the machine affects both, and takes the median of the ratios. Then
// it measures emulation alone. Usage: recording_bench [PAIRS] [THREADS]
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "app/run/execute/run.h"
#include "app/run/request/configuration_keys.h"

namespace {

using pipescope::config::Configuration;
using pipescope::config::Origin;

struct Variant {
  const char* name;
  const char* numerics;
  const char* record;
  const char* epochs;
};

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}
double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

struct Seconds {
  double wall = 0, processor = 0;
};

double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds of a whole run of 60,000 samples per epoch, over all threads.
Seconds runOnce(const Variant& variant, const std::string& threads, const std::string& profile) {
  auto configuration =
      pipescope::app::readConfiguration(PIPESCOPE_SOURCE_DIR "/samples/mnist/pipelined.toml");
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
  const double before = processorSeconds();
  const auto result =
      pipescope::app::runConfiguration(*configuration, {profile, "recording_bench"}, progress);
  const Seconds seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                        processorSeconds() - before};
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(2);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = std::max(1, argc > 1 ? std::atoi(argv[1]) : 10);
  const std::string threads = argc > 2 ? argv[2] : "0";
  const Variant with{"record steps", "true", "steps", "1"}, without{"record off", "true", "off", "1"};
  const std::string profile =
      (std::filesystem::temp_directory_path() / fmt::format("pipescope_recording_bench.{}.pop", getpid()))
          .string();
  runOnce(with, threads, profile);  // generates data and warms the caches up
  std::vector<double> wall, processor, speeds;
  for (int pair = 0; pair < pairs; ++pair) {
    Seconds recorded, plain;
    for (const bool record : {pair % 2 == 0, pair % 2 != 0})
      (record ? recorded : plain) = runOnce(record ? with : without, threads, profile);
    wall.push_back(recorded.wall / plain.wall - 1);
    processor.push_back(recorded.processor / plain.processor - 1);
    speeds.push_back(60'000 / recorded.wall);
  }
  fmt::print(
      "{} pairs: recording costs {:+.2f} % of processor time (quartiles {:+.2f} … {:+.2f} %), {:+.2f} % of "
      "time "
      "({:+.2f} … {:+.2f} %), at {:.0f} samples/s\n",
      pairs, median(processor) * 100, quantile(processor, 0.25) * 100, quantile(processor, 0.75) * 100,
      median(wall) * 100, quantile(wall, 0.25) * 100, quantile(wall, 0.75) * 100, median(speeds));
  for (const Variant& variant :
       {Variant{"record steps", "false", "steps", "3"}, Variant{"record off", "false", "off", "3"}}) {
    const Seconds seconds = runOnce(variant, threads, profile);
    fmt::print("emulation alone, {}: {:.0f} samples/s, {:.2f} s of processor\n", variant.name,
               60'000 * std::atof(variant.epochs) / seconds.wall, seconds.processor);
  }
  std::filesystem::remove(profile);
  return 0;
}
