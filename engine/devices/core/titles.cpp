#include "engine/devices/core/titles.h"

namespace pipescope::devices {

std::string titleOf(ops::MapFunction function) {
  std::string title = toString(function);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

}  // namespace pipescope::devices
