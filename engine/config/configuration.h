#pragma once
// A configuration: the values of keys, and where each value came from. Precedence: default < derived < model
// < file < environment < flag. `derived` is what the program works out from other keys, and `model` what a
// model file decides if nobody else does.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/key_table.h"
#include "profiler/base/result.h"

namespace pipescope::config {

using base::Result;
using base::Status;

enum class Origin { byDefault, derived, model, file, environment, flag };
std::string toString(Origin origin);

/// One value that was set, checked against its key.
struct Setting {
  Value value;
  Origin origin = Origin::byDefault;
  std::optional<Value> given = {};  ///< given value, if `value` is what it stands for (resolve)
};

/// The values of a whole configuration, or of one entry of an array of tables. Asking for an unknown key is a
/// broken invariant.
class Settings {
 public:
  /// The table must outlive the settings. `prefix` is "stages[]." within an entry of such an array.
  explicit Settings(const KeyTable& keys, std::string prefix = {})
      : keys_(&keys), prefix_(std::move(prefix)) {}

  const KeyTable& keys() const { return *keys_; }
  /// The value of a key as it is used: what was given, or the default, which another key may decide
  /// (Key::chooser).
  const Value& value(std::string_view path) const;

  bool boolean(std::string_view path) const;
  std::int64_t integer(std::string_view path) const;
  double real(std::string_view path) const;
  const std::string& text(std::string_view path) const;
  const std::vector<std::int64_t>& integers(std::string_view path) const;
  const std::vector<std::string>& texts(std::string_view path) const;
  /// True if the file, the environment or a flag set the key.
  bool given(std::string_view path) const;
  Origin origin(std::string_view path) const;

  /// True if the key has a meaning beside the other keys (Key::chooser).
  bool applies(std::string_view path) const;

  /// Checks type, range and choices, and sets the value. The error names the key, the value and what is
  /// allowed.
  Status set(std::string_view path, Value value, Origin origin);
  /// Replaces what was given, however strong, by a value that the program derives.
  Status replace(std::string_view path, Value value);
  /// Says what the given value, such as "auto", stands for in this run. Readers get the new value; the dump
  /// keeps what was given, and its origin.
  Status resolve(std::string_view path, Value value);
  /// The value as it was given, or the default.
  const Value& givenValue(std::string_view path) const;

 private:
  const Key& key(std::string_view path) const;

  const KeyTable* keys_;
  std::string prefix_;
  std::map<std::string, Setting, std::less<>> values_;
};

struct OptionRow {
  std::string path, value, origin;
};

class Configuration : public Settings {
 public:
  explicit Configuration(const KeyTable& keys) : Settings(keys) {}
  /// Reads TOML text. `file` names it in errors, which give the line.
  static Result<Configuration> parse(const KeyTable& keys, std::string_view toml, const std::string& file);
  static Result<Configuration> read(const KeyTable& keys, const std::string& file);

  /// Entries of an array of tables: tables("stages").
  const std::vector<Settings>& tables(std::string_view name) const;

  /// Sets a value from the text of a flag, an environment variable or --set ("0.002", "true"). A list is
  /// given as in TOML ("[1, 2]") or without brackets: texts as one element, whole numbers separated by
  /// commas.
  Status setText(std::string_view path, std::string_view value, Origin origin);
  /// The same for an option that was given several times. The elements of a list are joined; other keys take
  /// one text.
  Status setTexts(std::string_view path, const std::vector<std::string>& values, Origin origin);
  /// Sets every key outside arrays whose environment variable (PIPESCOPE_TRAINING_EPOCHS) exists.
  Status applyEnvironment(const std::function<const char*(const char*)>& getenv);

  /// Gives the content of the file that a key names, which then is not read from disk.
  void setContent(std::string_view path, std::shared_ptr<const std::vector<std::byte>> content);
  /// The content that was given for the file that a key names; null: none.
  std::shared_ptr<const std::vector<std::byte>> content(std::string_view path) const;

  /// Refuses a key that was given but has no meaning beside the others (Key::chooser).
  Status checkApplies() const;

  /// Every key outside arrays that has a meaning, with its value as it was given, and its origin; then the
  /// arrays' entries as "stages[0].blocks".
  std::vector<OptionRow> dump() const;

 private:
  friend class TomlReader;
  std::map<std::string, std::vector<Settings>, std::less<>> tables_;
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>, std::less<>> contents_;
};

/// The environment variable of a key: PIPESCOPE_TRAINING_EPOCHS.
std::string environmentName(std::string_view path);

/// A note for each of these names of environment variables that is no key's but is close to one.
std::vector<std::string> misspeltVariables(const KeyTable& keys, const std::vector<std::string>& names);

}  // namespace pipescope::config
