#include "app/cli/frame/key_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/config/configuration_help.h"

namespace pipescope::cli {

std::string flagHelp(const config::Key& key) {
  const std::string opposite =
      key.type == config::KeyType::boolean ? fmt::format("; --no-{} switches it off", key.flags.front()) : "";
  return fmt::format("{} [{}: {}{}]", key.help, key.path, config::keyFacts(key), opposite);
}

std::string flagType(const config::Key& key) {
  const bool isText = key.type == config::KeyType::text || key.type == config::KeyType::texts;
  const std::string name = isText ? "TEXT" : "N";
  return key.choices.empty() ? name : fmt::format("{}:{{{}}}", name, fmt::join(key.choices, ","));
}

}  // namespace pipescope::cli
