#include "profiler/sections/diff/diff_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/kernel_names.h"

namespace pipescope::sections {
namespace {

using analysis::AcceleratorReport;
using analysis::AcceleratorTimes;
using base::Ticks;

struct KernelChange {
  std::int64_t countBefore = 0, countAfter = 0;
  std::int64_t before = 0, after = 0;  ///< ticks of the comparison
  std::int64_t size() const { return std::abs(after - before); }
};

/// Turns ticks of a profile into those of the comparison.
double scaleOf(const Context& context, const analysis::Diff& diff) {
  return static_cast<double>(diff.ticksPerSecond) /
         static_cast<double>(context.catalog.timebase({}).ticksPerSecond);
}

SectionTable acceleratorTable(const AcceleratorReport& before, const AcceleratorReport& after,
                              double scaleBefore, double scaleAfter, const Words& words) {
  SectionTable table{"accelerators", "Accelerators", words.basis("mean of all accelerators"), {}, {}};
  table.columns = {{"what", "What", Format::plain, ""},
                   {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""},
                   {"delta_cycles", "Change", Format::ticks, ""}};
  if (before.devices.empty() && after.devices.empty()) return table;
  const auto mean = [](const AcceleratorReport& report, double scale, auto time) {
    double sum = 0;
    for (const AcceleratorTimes& times : report.devices) sum += static_cast<double>(time(times).count);
    const auto count = static_cast<double>(std::max<std::size_t>(report.devices.size(), 1));
    return static_cast<std::int64_t>(std::llround(sum * scale / count));
  };
  const auto communicates = [](const AcceleratorReport& report) {
    return std::ranges::none_of(report.devices, &AcceleratorTimes::isProcess);
  };
  const auto add = [&](const char* what, auto time, bool ofCommunication = false) {
    const bool known[] = {!ofCommunication || communicates(before), !ofCommunication || communicates(after)};
    const std::int64_t one = mean(before, scaleBefore, time), other = mean(after, scaleAfter, time);
    table.rows.push_back({what, known[0] ? Cell(one) : Cell(), known[1] ? Cell(other) : Cell(),
                          known[0] && known[1] ? Cell(other - one) : Cell()});
  };
  add("from the first to the last kernel", [](const AcceleratorTimes& t) { return t.end - t.start; });
  add("computing", [](const AcceleratorTimes& t) { return t.compute; });
  add(
      "only communicating", [](const AcceleratorTimes& t) { return t.exposedCommunication; }, true);
  add(
      "only copying", [](const AcceleratorTimes& t) { return t.busy - t.compute - t.exposedCommunication; },
      true);
  add("idle", [](const AcceleratorTimes& t) { return t.idle; });
  add("idle for the host", [](const AcceleratorTimes& t) { return t.hostIdle; });
  add("idle, launch not known", [](const AcceleratorTimes& t) { return t.unknownIdle; });
  return table;
}

SectionTable kernelChangeTable(const AcceleratorReport& before, const AcceleratorReport& after,
                               double scaleBefore, double scaleAfter, const Words& words, int most) {
  SectionTable table{"kernels", "Kernels", words.basis("all accelerators; largest change first"), {}, {}};
  table.columns = {{"name", "Full name", Format::plain, "", false},
                   {"short_name", "Kernel", Format::plain, "without arguments"},
                   {"category", "Category", Format::plain, ""},
                   {"before_count", "Count", Format::count, ""},
                   {"after_count", "after", Format::count, ""},
                   {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""},
                   {"delta_cycles", "Change", Format::ticks, ""}};
  std::map<std::pair<std::string, std::string>, KernelChange> changes;
  const auto scaled = [](Ticks ticks, double scale) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(ticks.count) * scale));
  };
  for (const analysis::KernelSum& kernel : before.kernels) {
    KernelChange& change = changes[{kernel.name, kernel.category}];
    change.countBefore = kernel.work.count;
    change.before = scaled(kernel.work.sum, scaleBefore);
  }
  for (const analysis::KernelSum& kernel : after.kernels) {
    KernelChange& change = changes[{kernel.name, kernel.category}];
    change.countAfter = kernel.work.count;
    change.after = scaled(kernel.work.sum, scaleAfter);
  }
  std::vector<std::pair<std::pair<std::string, std::string>, KernelChange>> sorted(changes.begin(),
                                                                                   changes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  for (const auto& [names, change] : sorted)
    table.rows.push_back({names.first, shortKernel(names.first), names.second, change.countBefore,
                          change.countAfter, change.before, change.after, change.after - change.before});
  if (most > 0) table.mostInText = static_cast<std::size_t>(most);
  return table;
}

}  // namespace

base::Result<std::vector<SectionTable>> diffKernelTables(const Context& before, const Context& after,
                                                         const analysis::Diff& diff, const Words& words,
                                                         int most) {
  PIPESCOPE_ASSIGN(const AcceleratorReport one, analysis::acceleratorReport(before.source, before.catalog));
  PIPESCOPE_ASSIGN(const AcceleratorReport other, analysis::acceleratorReport(after.source, after.catalog));
  const double scaleBefore = scaleOf(before, diff), scaleAfter = scaleOf(after, diff);
  return std::vector<SectionTable>{acceleratorTable(one, other, scaleBefore, scaleAfter, words),
                                   kernelChangeTable(one, other, scaleBefore, scaleAfter, words, most)};
}

}  // namespace pipescope::sections
