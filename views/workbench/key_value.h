#pragma once
// Conversion between TOML and the text that a user types for a key.
#include <QString>

#include "views/workbench/services.h"

namespace pipescope::workbench {

/// The value as the user edits it: texts without quotes, lists without brackets, words in place of the
/// numbers that stand for them.
QString typedText(const KeyRow& key, const QString& toml);
/// Returns the TOML of a typed text. Anything but a number becomes a text in quotes, so that the check of the
/// configuration can say what is wrong with it.
QString tomlOf(const KeyRow& key, const QString& typed);

}  // namespace pipescope::workbench
