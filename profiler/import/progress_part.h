#pragma once
#include <algorithm>
#include <string_view>

#include "profiler/base/progress.h"

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

}  // namespace pipescope::importing
