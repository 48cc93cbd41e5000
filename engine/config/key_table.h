#pragma once
// The table of keys: what a configuration may say. The core's keys stand in this folder; a program adds those
// of the optimizers, data sets, compiler passes and so on that it contains, as their registries describe
// them.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/key.h"

namespace pipescope::config {

class KeyTable {
 public:
  /// Paths are unique, and choosers are keys of the table.
  explicit KeyTable(std::vector<Key> keys);

  /// Keys in the order of the help page.
  const std::vector<Key>& all() const { return keys_; }
  /// Null if there is no such key.
  const Key* find(std::string_view path) const;
  /// True if some key lies below this path, as training.epochs does below training.
  bool isTable(std::string_view path) const;
  std::vector<std::string> paths() const;

 private:
  std::vector<Key> keys_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

/// The keys that do not depend on what a program contains.
std::vector<Key> coreKeys();

/// Puts `added` after the key `path`, which must be there.
void insertAfter(std::vector<Key>& keys, std::string_view path, std::vector<Key> added);

}  // namespace pipescope::config
