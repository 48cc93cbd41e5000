#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

namespace pipescope::base {

/// Asks the processor to load the element `ahead` places after `place`, or the last element. Without it, a
/// loop waits for each element, which lies in memory or in the cache of the thread that wrote it.
template <class Element>
inline void prefetch(std::span<const Element> elements, std::size_t place, std::size_t ahead = 32) {
  constexpr std::size_t kCacheLine = 64;  // bytes
  const auto* const wanted =
      reinterpret_cast<const char*>(&elements[std::min(place + ahead, elements.size() - 1)]);
  for (std::size_t at = 0; at < sizeof(Element); at += kCacheLine) __builtin_prefetch(wanted + at);
}

}  // namespace pipescope::base
