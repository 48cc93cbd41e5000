#pragma once
// The IR of a stage as a text, which serves as a key: stages with equal texts are lowered to the same.
#include <string>

#include "engine/compile/ir.h"

namespace pipescope::compile {

/// Appends everything that the IR of the stage says. Equal texts mean equal IRs.
void appendText(std::string& text, const StageIr& stage);
/// Appends the length of the word and the word, so that neighbouring words cannot be confused.
void appendWord(std::string& text, const std::string& word);

}  // namespace pipescope::compile
