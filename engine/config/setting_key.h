#pragma once
// Keys for settings that registered things have: the settings of optimizers, or of model builders. Settings
// of the same name are one key, which names the things that have it and their defaults.
#include <map>
#include <string>
#include <vector>

#include "engine/config/key.h"

namespace pipescope::config {

/// A setting of one registered thing.
struct SettingRow {
  std::string name;
  Value fallback;
  double least = 0, most = 0;             ///< limits of numbers
  std::vector<std::string> choices = {};  ///< allowed texts; empty: any
  std::string help;                       ///< a sentence
  std::string unit = {};
  bool hasFlag = false;  ///< true: the key is an option of the command line, too
  /// The owner only has other defaults than another owner, so the help names neither it nor its default.
  bool isVariant = false;
};

class SettingKeys {
 public:
  /// Keys are `prefix` + name, and have a meaning if `chooser` names a thing that has the setting.
  SettingKeys(std::string prefix, std::string chooser)
      : prefix_(std::move(prefix)), chooser_(std::move(chooser)) {}

  void add(const std::string& owner, const SettingRow& setting);
  /// Takes the keys in the order in which the settings were first added.
  std::vector<Key> take();

 private:
  Key& keyOf(const SettingRow& setting);

  std::string prefix_, chooser_;
  std::vector<Key> keys_;
  /// Help sentences of each path, each with the owners that share it.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> help_;
};

}  // namespace pipescope::config
