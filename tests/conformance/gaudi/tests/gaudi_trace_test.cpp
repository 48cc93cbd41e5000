// Compares what a dependent kernel costs with the trace of a real Gaudi3: samples/traces/gaudi3.csv.gz.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "engine/devices/core/device_files.h"
#include "engine/devices/gaudi/card.h"
#include "profiler/import/read/source/byte_source.h"
#include "profiler/import/read/source/trace_files.h"

namespace pipescope::conformance {
namespace {

/// The moments of an event in the trace, in seconds, by the engine that recorded it.
using Moments = std::map<std::string, double>;

std::map<std::string, Moments> readEvents(const std::filesystem::path& path) {
  std::string text;
  std::vector<std::string> damages;
  const auto read = importing::visitTraceFiles(
      path,
      [&](const importing::TraceFile& file) -> base::Status {
        std::array<char, 4096> buffer;
        for (;;) {
          const auto bytes = file.bytes.read(buffer);
          if (!bytes.ok()) return bytes.error();
          if (*bytes == 0) return {};
          text.append(buffer.data(), *bytes);
        }
      },
      damages, base::SilentProgress());
  EXPECT_TRUE(read.ok());
  std::map<std::string, Moments> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
    // Engine, time in microseconds and event.
    if (fields.size() < 15 || fields[1] != "HW") continue;
    events[fields[14]][fields[2]] = 1e-6 * std::stod(fields[4]);
  }
  return events;
}

double lastOf(const Moments& moments) {
  double last = 0;
  for (const auto& [engine, moment] : moments) last = std::max(last, moment);
  return last;
}

/// The trace holds a kernel that packs the weights of a small convolution, one short run on each of 48 vector
/// engines, and the convolution that waits for it. From the start of a run to its message that the result is
/// there, and from the last message to the start of the last matrix engine: that is a dependent kernel with
/// next to no work of its own. kernel_overhead was chosen by decoding, without this trace.
TEST(GaudiTrace, ADependentKernelWaitsAboutAsLongAsOnARealGaudi3) {
  auto events = readEvents(PIPESCOPE_SOURCE_DIR "/samples/traces/gaudi3.csv.gz");
  const Moments &starts = events["TPC_SPU_START"], &messages = events["TPC_END_OF_KERNEL_MESSAGE_WRITE"];
  const Moments& products = events["SB0_START_EVT"];
  ASSERT_EQ(starts.size(), 48U);
  ASSERT_EQ(messages.size(), 48U);
  ASSERT_EQ(products.size(), 8U);
  std::vector<double> runs;
  for (const auto& [engine, start] : starts) runs.push_back(messages.at(engine) - start);
  std::ranges::nth_element(runs, runs.begin() + 24);
  const double run = runs[24], wait = lastOf(products) - lastOf(messages);
  const auto file = devices::DeviceFiles({}).chip("gaudi3");
  ASSERT_TRUE(file.ok());
  const auto card = devices::gaudi::readCard(*file);
  ASSERT_TRUE(card.ok()) << card.error().message;
  const double error = card->kernelOverhead / (run + wait) - 1;
  std::printf(
      "run and message %.2f us, wait of the product %.2f us, kernel_overhead %.2f us: error %+.1f %%\n",
      1e6 * run, 1e6 * wait, 1e6 * card->kernelOverhead, 100 * error);
  EXPECT_NEAR(error, 0, 0.4);
}

}  // namespace
}  // namespace pipescope::conformance
