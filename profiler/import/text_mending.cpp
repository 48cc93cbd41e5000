#include "profiler/import/text_mending.h"

namespace pipescope::importing {

void mendText(std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xC2 && first < 0xE0 ? 2
                               : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    bool valid = length > 0;
    for (std::size_t k = 1; valid && k < length; ++k) valid = (byte(i + k) & 0xC0U) == 0x80U;
    if (length == 3)
      valid = valid && !(first == 0xE0 && byte(i + 1) < 0xA0) && !(first == 0xED && byte(i + 1) > 0x9F);
    if (length == 4)
      valid = valid && !(first == 0xF0 && byte(i + 1) < 0x90) && !(first == 0xF4 && byte(i + 1) > 0x8F);
    if (!valid || (length == 1 && first < 0x20)) {
      text[i] = valid && first != 0 ? ' ' : '?';
      ++i;
    } else {
      i += length;
    }
  }
}

}  // namespace pipescope::importing
