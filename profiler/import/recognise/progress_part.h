#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::importing {

/// Reports a part of some work as its share of the whole, so that the whole never goes back or ends twice.
class ProgressPart : public base::Progress {
 public:
  ProgressPart(base::Progress& whole, double from, double to) : whole_(whole), from_(from), to_(to) {}
  void report(double fraction, std::string_view what) override {
    // 1 means that the whole work is done.
    whole_.report(std::min(0.999, from_ + (to_ - from_) * std::clamp(fraction, 0.0, 1.0)), what);
  }
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  base::Progress& whole_;
  const double from_, to_;
};

/// Reports how many of all slices are done, and fails if the user cancels. Call it for each slice: it asks
/// only now and then. `doing` is a present participle.
inline base::Status goesOn(base::Progress& progress, std::int64_t done, std::int64_t all, const char* doing,
                           const std::string& name) {
  constexpr std::int64_t kSlicesPerQuestion = 1 << 10, kSlicesPerReport = 1 << 13;
  if (done % kSlicesPerQuestion != 0) return {};
  if (progress.cancelled()) return base::cancelled("The import was stopped.");
  if (done % kSlicesPerReport == 0)
    progress.report(static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, all)),
                    std::string(doing) + " " + name);
  return {};
}

}  // namespace pipescope::importing
