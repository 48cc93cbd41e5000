#include "app/gui/numbers.h"

#include <clocale>

namespace pipescope::gui {

void useDecimalPoints() {
  std::setlocale(LC_NUMERIC, "C");
}

}  // namespace pipescope::gui
