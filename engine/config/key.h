#pragma once
// One table of keys: what a configuration may say. The reader, environment, flags, option dump and the help
// page derive from it.
#include <cstdint>
#include <limits>
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
  /// Empty optional values ("" for texts) mean: not given.
  Value fallback;
  std::string help;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// Allowed texts; empty: any. Of a whole number: words for −1, −2 …
  std::vector<std::string> choices;
  /// Command-line names without dashes; the first is the key's own flag. Empty: only through --set.
  std::vector<std::string> flags;
  bool required = false;  ///< within its table
};

/// All keys, in the order of the help page.
const std::vector<Key>& keys();
const Key* findKey(std::string_view path);
/// The known key or word closest to what was written; empty where nothing is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The value as TOML text.
std::string toToml(const Value& value);
std::string toString(KeyType type);

/// resources/help/configuration.md, from the table.
std::string configurationHelp();

}  // namespace pipescope::config
