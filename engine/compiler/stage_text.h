#pragma once
// The plan of a stage as a text, which serves as a key: stages with equal texts are lowered to the same.
#include <string>

#include "engine/compile/plan.h"

namespace pipescope::compile {

/// Appends everything that the plan of the stage says. Equal texts mean equal plans.
void appendText(std::string& text, const StagePlan& stage);
/// Appends the length of the word and the word, so that neighbouring words cannot be confused.
void appendWord(std::string& text, const std::string& word);

}  // namespace pipescope::compile
