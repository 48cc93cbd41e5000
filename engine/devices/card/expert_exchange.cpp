#include "engine/devices/card/expert_exchange.h"

#include <algorithm>

namespace pipescope::devices::card {
namespace {

/// Probability that `draws` different ones of `all` contain none of `marked`: C(all − marked, draws) ÷
/// C(all, draws).
double chanceOfNone(std::int64_t all, std::int64_t marked, std::int64_t draws) {
  double chance = 1;
  for (std::int64_t i = 0; i < draws && chance > 0; ++i)
    chance *= static_cast<double>(std::max<std::int64_t>(0, all - marked - i)) / static_cast<double>(all - i);
  return chance;
}

double ways(std::int64_t all, std::int64_t chosen) {
  if (chosen < 0 || chosen > all) return 0;
  double product = 1;
  for (std::int64_t i = 0; i < chosen; ++i)
    product *= static_cast<double>(all - i) / static_cast<double>(i + 1);
  return product;
}

}  // namespace

double chanceOfPart(const ops::ExpertChoices& choices, std::int64_t parts) {
  const std::int64_t experts = choices.experts, own = experts / std::max<std::int64_t>(1, parts);
  const std::int64_t groups = choices.groups, chosen = std::min(groups, choices.groupChoices);
  const std::int64_t members = experts / std::max<std::int64_t>(1, groups), open = chosen * members;
  const bool nested = groups % parts == 0 || parts % groups == 0;
  if (chosen >= groups || !nested) return 1 - chanceOfNone(experts, own, choices.perToken);
  if (parts >= groups) {  // a part lies within one group
    const double chance = static_cast<double>(chosen) / static_cast<double>(groups);
    return chance * (1 - chanceOfNone(open, own, choices.perToken));
  }
  const std::int64_t ofPart = groups / parts;
  double none = 0;
  for (std::int64_t j = 0; j <= std::min(ofPart, chosen); ++j) {
    const double share = ways(ofPart, j) * ways(groups - ofPart, chosen - j) / ways(groups, chosen);
    none += share * chanceOfNone(open, j * members, choices.perToken);
  }
  return 1 - none;
}

ExpertTraffic expertTraffic(double tokenBytes, const ops::ExpertChoices& choices, std::int64_t boxes,
                            std::int64_t perBox) {
  const auto b = static_cast<double>(boxes), p = static_cast<double>(perBox);
  return {.outside = tokenBytes * (b - 1) * chanceOfPart(choices, boxes),
          .inside = tokenBytes * b * (p - 1) * chanceOfPart(choices, boxes * perBox)};
}

}  // namespace pipescope::devices::card
