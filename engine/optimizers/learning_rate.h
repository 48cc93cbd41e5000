#pragma once
// Learning-rate schedules. They depend only on the number of the update, so that a resumed run continues
// where it stopped.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/setting_key.h"
#include "profiler/base/result.h"

namespace pipescope::optimizers {

/// t counts from 0; t' and T' leave out the warm-up. With the base rate r and the end rate e:
///   constant     r
///   step         r·gamma^⌊t' / stepSize⌋
///   multi_step   r·gamma^(number of milestones ≤ t)
///   exponential  r·gamma^t'
///   linear       r + (e − r)·min(t'/T', 1)
///   cosine       e + (r − e)·(1 + cos(π·min(t'/T', 1))) / 2
///   polynomial   e + (r − e)·(1 − min(t'/T', 1))^power
/// During the warm-up: r·(t + 1) / (warmUp + 1), so that r itself comes right after it.
struct LearningRateSchedule {
  std::string kind = "constant";
  double base = 1e-3, end = 0;
  double gamma = 0.1, power = 1;
  std::int64_t stepSize = 1;
  std::vector<std::int64_t> milestones;
  std::int64_t warmUp = 0;
  std::int64_t total = 1;  ///< T: where linear, cosine and polynomial end

  /// Refuses an unknown kind, milestones that do not ascend, and a warm-up that takes the whole run.
  base::Status check() const;
  double at(std::int64_t t) const;
};

/// The names of all kinds, sorted.
std::vector<std::string> learningRateSchedules();

/// A moment of a run.
struct RateMoment {
  std::int64_t t = 0, since = 0;  ///< `since` counts from the end of the warm-up
  double part = 0;                ///< share of the way from there to the end, 0…1
};

/// A kind of schedule with the settings that it uses.
struct LearningRateKind {
  std::string name;
  std::vector<const config::SettingRow*> settings;
  double (*at)(const LearningRateSchedule&, const RateMoment&) = nullptr;
};
/// All kinds, sorted by name.
const std::vector<LearningRateKind>& learningRateKinds();

}  // namespace pipescope::optimizers
