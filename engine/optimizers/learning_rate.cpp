#include "engine/optimizers/learning_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipescope::optimizers {
namespace {

using base::badInput;

struct Moment {
  std::int64_t t = 0, since = 0;  ///< since the end of the warm-up
  double part = 0;                ///< of the way from there to the end, 0…1
};

struct Kind {
  const char* name;
  bool needsTotal;
  double (*at)(const LearningRateSchedule&, const Moment&);
};

double milestonesPassed(const LearningRateSchedule& s, std::int64_t t) {
  return static_cast<double>(std::ranges::count_if(s.milestones, [t](std::int64_t m) { return m <= t; }));
}

constexpr Kind kKinds[] = {
    {"constant", false, [](const LearningRateSchedule& s, const Moment&) { return s.base; }},
    {"cosine", true,
     [](const LearningRateSchedule& s, const Moment& m) {
       return s.end + (s.base - s.end) * (1 + std::cos(std::numbers::pi * m.part)) / 2;
     }},
    {"exponential", false,
     [](const LearningRateSchedule& s, const Moment& m) {
       return s.base * std::pow(s.gamma, static_cast<double>(m.since));
     }},
    {"linear", true,
     [](const LearningRateSchedule& s, const Moment& m) { return s.base + (s.end - s.base) * m.part; }},
    {"multi_step", false,
     [](const LearningRateSchedule& s, const Moment& m) {
       return s.base * std::pow(s.gamma, milestonesPassed(s, m.t));
     }},
    {"polynomial", true,
     [](const LearningRateSchedule& s, const Moment& m) {
       return s.end + (s.base - s.end) * std::pow(1 - m.part, s.power);
     }},
    {"step", false,
     [](const LearningRateSchedule& s, const Moment& m) {
       return s.base * std::pow(s.gamma, static_cast<double>(m.since / s.stepSize));
     }},
};

const Kind* find(const std::string& name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> learningRateSchedules() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

base::Status LearningRateSchedule::check() const {
  const Kind* own = find(kind);
  if (!own) {
    return badInput(fmt::format("the learning-rate schedule {} is not known; known are {}", kind,
                                fmt::join(learningRateSchedules(), ", ")));
  }
  if (kind == "multi_step" && (milestones.empty() || !std::ranges::is_sorted(milestones))) {
    return badInput(fmt::format(
        "the learning-rate schedule multi_step has the milestones [{}]; give at least one, ascending",
        fmt::join(milestones, ", ")));
  }
  if (own->needsTotal && total <= warmUp) {
    return badInput(fmt::format(
        "the learning-rate schedule {} ends at {}, but its warm-up takes {}; make the warm-up shorter", kind,
        total, warmUp));
  }
  return {};
}

double LearningRateSchedule::at(std::int64_t t) const {
  if (t < warmUp) return base * static_cast<double>(t + 1) / static_cast<double>(warmUp + 1);
  const Kind* own = find(kind);
  PIPESCOPE_CHECK(own != nullptr, kind);
  const std::int64_t since = t - warmUp, rest = std::max<std::int64_t>(1, total - warmUp);
  return own->at(*this, {t, since, std::min(1.0, static_cast<double>(since) / static_cast<double>(rest))});
}

}  // namespace pipescope::optimizers
