#include "engine/config/setting_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::config {

Key& SettingKeys::keyOf(const SettingRow& setting) {
  const std::string path = prefix_ + setting.name;
  const auto found = std::ranges::find(keys_, path, &Key::path);
  if (found != keys_.end()) return *found;
  Key key;
  key.path = path;
  key.type = static_cast<KeyType>(setting.fallback.index());
  key.unit = setting.unit;
  key.fallback = setting.fallback;
  const bool isNumber =
      key.type != KeyType::boolean && key.type != KeyType::text && key.type != KeyType::texts;
  if (isNumber) key.least = setting.least, key.most = setting.most;
  key.chooser = chooser_;
  keys_.push_back(std::move(key));
  return keys_.back();
}

void SettingKeys::add(const std::string& owner, const SettingRow& setting) {
  Key& key = keyOf(setting);
  // A thing whose range is narrower than the key's checks its own.
  key.least = std::min(key.least, setting.least);
  key.most = std::max(key.most, setting.most);
  for (const std::string& choice : setting.choices) {
    if (std::ranges::find(key.choices, choice) == key.choices.end()) key.choices.push_back(choice);
  }
  if (setting.hasFlag && key.flags.empty()) {
    key.flags = {setting.name};
    std::ranges::replace(key.flags.front(), '_', '-');
  }
  key.fallbackOf[owner] = setting.fallback;
  if (setting.isVariant) {
    key.variants.push_back(owner);
    return;
  }
  auto& sentences = help_[key.path];
  const auto same = std::ranges::find(sentences, setting.help, &std::pair<std::string, std::string>::first);
  if (same == sentences.end()) {
    sentences.emplace_back(setting.help, owner);
  } else {
    same->second += ", " + owner;
  }
}

std::vector<Key> SettingKeys::take() {
  for (Key& key : keys_) {
    for (const auto& [sentence, owners] : help_[key.path])
      key.help += fmt::format("{}{}: {}", key.help.empty() ? "" : " ", owners, sentence);
  }
  return std::move(keys_);
}

}  // namespace pipescope::config
