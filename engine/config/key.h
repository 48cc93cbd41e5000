#pragma once
// One key of a configuration, with everything that the reader, the environment, the flags, the option dump
// and the help page need to know about it.
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pipescope::config {

enum class KeyType { boolean, integer, real, text, integers, texts };

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>>;

struct Key {
  /// "training.epochs"; keys of an array of tables as "stages[].blocks".
  std::string path;
  KeyType type = KeyType::text;
  std::string unit;
  /// The default. An empty text means: not given.
  Value fallback;
  std::string help;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// Allowed texts; empty: any. For a whole number: words that stand for −1, −2 …
  std::vector<std::string> choices;
  /// Names on the command line, without dashes. The first is the key's own flag. Empty: only --set can set
  /// it.
  std::vector<std::string> flags;
  bool required = false;  ///< required within its table
  /// The path of a text key that decides whether this key has a meaning; empty: it always has one.
  std::string chooser = {};
  /// Default of this key for each value of the chooser with which the key has a meaning.
  std::map<std::string, Value> fallbackOf = {};
  /// Values of the chooser that only have other defaults than another value. The help names them once.
  std::vector<std::string> variants = {};
};

/// The part of a path after its last dot.
std::string_view lastPart(std::string_view path);
/// The value as TOML text.
std::string toToml(const Value& value);
/// The same for a value of this key: a number that stands for one of its words is written as the word.
std::string toToml(const Key& key, const Value& value);
std::string toString(KeyType type);

}  // namespace pipescope::config
