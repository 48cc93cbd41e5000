#pragma once
// Knows which flags and environment variables set configuration keys, so that messages can name them instead
// of keys.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/config/configuration.h"

namespace pipescope::cli {

class TypedFlags {
 public:
  /// `arguments` are those after the program's name, `variables` the names of all environment variables.
  TypedFlags(const config::KeyTable& keys, const std::vector<std::string>& arguments,
             const std::vector<std::string>& variables);

  /// Notes which keys the file sets: messages go on to call these by their keys.
  void noteFile(const config::Configuration& configuration);
  /// Returns the error that a flag and its opposite were typed, or a flag and a --set of the same key, or two
  /// flags that mean the same.
  const base::Status& contradiction() const { return contradiction_; }
  /// Fails with a sentence if a flag was typed that has no effect on what runs, such as --epochs with
  /// --inference.
  base::Status checkEffect(const config::Configuration& configuration) const;
  /// The message with the flags that were typed, and the variables that are set, instead of their keys. Keys
  /// that are advised beside a typed flag are called by their flags, too.
  std::string named(std::string message) const;

 private:
  struct Flag {
    std::string name;   ///< flag as it was typed: "--batch-size"
    std::string value;  ///< value of a flag without one, as messages write it: "off", "inference"
  };
  void add(const std::string& path, Flag flag);
  /// Replaces a key by the name of what set it, also where the message has only the last part of its path.
  bool replaceKey(std::string& message, const std::string& path, const std::string& name) const;

  const config::KeyTable& keys_;
  std::map<std::string, Flag> flags_;             ///< keyed by path
  std::map<std::string, std::string> variables_;  ///< keyed by path; without those that a flag overrides
  std::set<std::string> ofFile_;                  ///< paths of the keys that the file sets
  bool fileIsKnown_ = false;
  base::Status contradiction_;
};

}  // namespace pipescope::cli
