#pragma once
// Makes text from files and command lines safe to print: a terminal would obey control characters.
#include <string>
#include <string_view>

namespace pipescope::base {

/// The text with control characters and bytes that are not UTF-8 as escapes: "\x1b", "\u009b", "\xff".
/// Newlines and tabs stay.
std::string printable(std::string_view text);

/// The same for a name or cell that has to stay in its line: newlines and tabs are escaped, too.
std::string printableName(std::string_view text);

/// A name of somebody else's for a sentence: what is longer than most names is cut, and its length is said.
std::string shortName(std::string_view name);

/// The text with each word (up to white space) of more than 500 bytes cut as by shortName(), and at most
/// 20,000 bytes in all. Sentences that quote a file stay readable.
std::string shortWords(std::string_view text);

}  // namespace pipescope::base
