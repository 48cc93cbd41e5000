#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/key_table.h"

namespace pipescope::config {

/// Texts of help fit a terminal of this many columns. The widest indent of a paragraph takes four of them.
inline constexpr std::size_t kHelpColumns = 80, kHelpWidth = kHelpColumns - 4;

/// Returns what a key takes, for one line of help: "a whole number, samples, 1 … 1000000; default 1".
std::string keyFacts(const Key& key);

/// All that is known about a key, for `pipescope help KEY`.
std::string keyHelp(const Key& key);

/// The keys that a user may mean by a word: a path, a flag with or without dashes, the last part of paths.
/// Empty if there is none.
std::vector<const Key*> keysMeant(const KeyTable& keys, std::string_view word);

/// The keys that have a meaning if another key has the value `choice` (Key::chooser), with their defaults
/// there: what a builder or an optimizer can be told. Empty if no key depends on such a value.
std::string choiceHelp(const KeyTable& keys, const std::string& choice);

/// The keys of a table with their defaults: "training", "[training]" or "[[stages]]". Empty if there is no
/// such table.
std::string tableHelp(const KeyTable& keys, const std::string& table);

/// The keys that may have this value: "popart". Empty if there is none.
std::string valueHelp(const KeyTable& keys, const std::string& value);

/// Breaks a paragraph into lines of at most this many bytes, each with an indent.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

/// The text of resources/help/configuration.md.
std::string configurationHelp(const KeyTable& keys);

}  // namespace pipescope::config
