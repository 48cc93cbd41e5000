#include "engine/optimizers/learning_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipescope::optimizers {
namespace {

using base::badInput;

/// The settings of all kinds.
struct RateSettings {
  config::SettingRow end{
      .name = "lr_end", .fallback = 0.0, .most = 1e6, .help = "The last rate.", .hasFlag = true};
  config::SettingRow total{.name = "lr_total",
                           .fallback = std::int64_t{0},
                           .most = 1e12,
                           .help = "Where the schedule ends; 0: with the run.",
                           .unit = "of lr_unit"};
  config::SettingRow gamma{
      .name = "lr_gamma", .fallback = 0.1, .most = 1e6, .help = "Factor.", .hasFlag = true};
  config::SettingRow power{.name = "lr_power", .fallback = 1.0, .most = 100, .help = "Exponent."};
  config::SettingRow stepSize{.name = "lr_step_size",
                              .fallback = std::int64_t{1},
                              .least = 1,
                              .most = 1e12,
                              .help = "Distance between two factors.",
                              .unit = "of lr_unit"};
  config::SettingRow milestones{.name = "lr_milestones",
                                .fallback = std::vector<std::int64_t>(),
                                .most = 1e12,
                                .help = "Where the factors are.",
                                .unit = "of lr_unit"};
};
const RateSettings& rateSettings() {
  static const RateSettings all;
  return all;
}

double milestonesPassed(const LearningRateSchedule& s, std::int64_t t) {
  return static_cast<double>(std::ranges::count_if(s.milestones, [t](std::int64_t m) { return m <= t; }));
}

}  // namespace

const std::vector<LearningRateKind>& learningRateKinds() {
  static const std::vector<LearningRateKind> all = {
      {"constant", {}, [](const LearningRateSchedule& s, const RateMoment&) { return s.base; }},
      {"cosine",
       {&rateSettings().end, &rateSettings().total},
       [](const LearningRateSchedule& s, const RateMoment& m) {
         return s.end + (s.base - s.end) * (1 + std::cos(std::numbers::pi * m.part)) / 2;
       }},
      {"exponential",
       {&rateSettings().gamma},
       [](const LearningRateSchedule& s, const RateMoment& m) {
         return s.base * std::pow(s.gamma, static_cast<double>(m.since));
       }},
      {"linear",
       {&rateSettings().end, &rateSettings().total},
       [](const LearningRateSchedule& s, const RateMoment& m) { return s.base + (s.end - s.base) * m.part; }},
      {"multi_step",
       {&rateSettings().gamma, &rateSettings().milestones},
       [](const LearningRateSchedule& s, const RateMoment& m) {
         return s.base * std::pow(s.gamma, milestonesPassed(s, m.t));
       }},
      {"polynomial",
       {&rateSettings().end, &rateSettings().power, &rateSettings().total},
       [](const LearningRateSchedule& s, const RateMoment& m) {
         return s.end + (s.base - s.end) * std::pow(1 - m.part, s.power);
       }},
      {"step",
       {&rateSettings().gamma, &rateSettings().stepSize},
       [](const LearningRateSchedule& s, const RateMoment& m) {
         return s.base * std::pow(s.gamma, static_cast<double>(m.since / s.stepSize));
       }},
  };
  return all;
}

std::vector<std::string> learningRateSchedules() {
  std::vector<std::string> names;
  for (const LearningRateKind& kind : learningRateKinds()) names.push_back(kind.name);
  return names;
}

namespace {

const LearningRateKind* find(const std::string& name) {
  const auto& all = learningRateKinds();
  const auto found = std::ranges::find(all, name, &LearningRateKind::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

base::Status LearningRateSchedule::check() const {
  const LearningRateKind* own = find(kind);
  if (!own) {
    return badInput(fmt::format("the learning-rate schedule {} is not known; known are {}", kind,
                                fmt::join(learningRateSchedules(), ", ")));
  }
  if (kind == "multi_step" && (milestones.empty() || !std::ranges::is_sorted(milestones))) {
    return badInput(fmt::format(
        "the learning-rate schedule multi_step has the milestones [{}]; give at least one, ascending",
        fmt::join(milestones, ", ")));
  }
  if (std::ranges::find(own->settings, &rateSettings().total) != own->settings.end() && total <= warmUp) {
    return badInput(fmt::format(
        "the learning-rate schedule {} ends at {}, but its warm-up takes {}; make the warm-up shorter", kind,
        total, warmUp));
  }
  return {};
}

double LearningRateSchedule::at(std::int64_t t) const {
  if (t < warmUp) return base * static_cast<double>(t + 1) / static_cast<double>(warmUp + 1);
  const LearningRateKind* own = find(kind);
  PIPESCOPE_CHECK(own != nullptr, kind);
  const std::int64_t since = t - warmUp, rest = std::max<std::int64_t>(1, total - warmUp);
  return own->at(*this, {t, since, std::min(1.0, static_cast<double>(since) / static_cast<double>(rest))});
}

}  // namespace pipescope::optimizers
