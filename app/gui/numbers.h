#pragma once

namespace pipescope::gui {

/// Makes the C library read and write numbers with points, as profiles and configurations have them, whatever
/// the user's language is. QApplication chooses the language's form, so call this behind it.
void useDecimalPoints();

}  // namespace pipescope::gui
