#pragma once
// Says what is wrong with a command line, in sentences that name what was typed.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pipescope::cli {

/// The sentence for an error of the parser. `arguments` are those after the program's name.
std::string usageSentence(const CLI::ParseError& error, const CLI::App& program,
                          const std::vector<std::string>& arguments);

/// The words that an option takes, as its type name tells: "TEXT:{text,json,csv}". Empty: any.
std::vector<std::string> wordsOf(const CLI::Option& option);
/// Text that a help text must add to a description: ". One of text, json"; empty if the description names the
/// words.
std::string missingWords(const std::string& description, const std::vector<std::string>& words);
/// The placeholder of an option's value: "TEXT". Empty for an option without a value.
std::string placeholderOf(const CLI::Option& option);

}  // namespace pipescope::cli
