#include "app/cli/frame/environment.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/cli/frame/command.h"
#include "app/cli/frame/typed_flags.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/base/printable.h"

namespace pipescope::cli {

std::vector<std::string> environmentNames() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

base::Status readEnvironment(config::Configuration& configuration) {
  for (const std::string& note : config::misspeltVariables(configuration.keys(), environmentNames()))
    std::fprintf(stderr, "note: %s\n", base::printable(note).c_str());
  return configuration.applyEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

std::string asTyped(const std::string& message) {
  return TypedFlags(app::configurationKeys(), arguments(), environmentNames()).named(message);
}

int failAsTyped(const base::Error& error) {
  return fail({error.kind, asTyped(error.message)});
}

}  // namespace pipescope::cli
