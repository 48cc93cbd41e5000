#include "engine/compile/passes/pass_keys.h"

namespace pipescope::compile {

std::vector<config::Key> passKeys(const PassRegistry& registry) {
  std::vector<config::Key> keys;
  for (const PassDefinition& pass : registry.all()) {
    config::Key key;
    key.path = "compile." + pass.name;
    key.type = config::KeyType::boolean;
    key.fallback = true;
    key.help = pass.doc;
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace pipescope::compile
