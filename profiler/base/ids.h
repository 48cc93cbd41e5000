#pragma once
// Ids are distinct types: a LaneId is not a DeviceId. Values are dense from 0 in the order of recording.
#include <compare>
#include <cstdint>
#include <functional>

namespace pipescope::base {

template <class Tag>
struct Id {
  std::int64_t value = -1;  ///< −1: none

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(v) {}
  constexpr bool valid() const { return value >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace pipescope::base

template <class Tag>
struct std::hash<pipescope::base::Id<Tag>> {
  std::size_t operator()(pipescope::base::Id<Tag> id) const noexcept {
    return std::hash<std::int64_t>()(id.value);
  }
};
