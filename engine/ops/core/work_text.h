#pragma once
// Work as a text, which serves as a key: two texts are equal exactly if the Works are.
#include <string>

#include "engine/ops/core/work.h"

namespace pipescope::ops {

/// Appends the item, without repeats and label.
void appendText(std::string& text, const WorkItem& item);

}  // namespace pipescope::ops
