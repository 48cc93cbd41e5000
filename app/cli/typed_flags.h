#pragma once
// Knows which flags of configuration keys the user typed, so that messages can name them instead of keys.
#include <map>
#include <string>
#include <vector>

#include "engine/config/configuration.h"

namespace pipescope::cli {

class TypedFlags {
 public:
  /// `arguments` are those after the program's name.
  TypedFlags(const config::KeyTable& keys, const std::vector<std::string>& arguments);

  /// Error: a flag and its opposite were typed, or a flag and a --set of the same key, or two flags that mean
  /// the same.
  const base::Status& contradiction() const { return contradiction_; }
  /// Error: a flag was typed that has no effect on what runs, such as --epochs with --inference.
  base::Status checkEffect(const config::Configuration& configuration) const;
  /// The message with the flags that were typed instead of their keys.
  std::string named(std::string message) const;

 private:
  struct Flag {
    std::string name;   ///< as typed: "--batch-size"
    std::string value;  ///< of a flag without a value, as messages write it: "off", "inference"
  };
  void add(const std::string& path, Flag flag);

  const config::KeyTable& keys_;
  std::map<std::string, Flag> flags_;  ///< by path
  base::Status contradiction_;
};

}  // namespace pipescope::cli
