#include "profiler/export/light_colours.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::exporting {

/// The texts of the embedded themes (generated).
std::span<const std::pair<std::string_view, std::string_view>> embeddedThemes();

namespace {

/// The colours of the light theme, by the key of their role.
const std::map<std::string, std::string, std::less<>>& lightColours() {
  static const auto colours = [] {
    std::map<std::string, std::string, std::less<>> found;
    for (const auto& [name, text] : embeddedThemes()) {
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        const std::size_t equals = line.find(" = ");
        if (equals != std::string_view::npos && line.front() != '#')
          found.emplace(line.substr(0, equals), line.substr(equals + 3));
        at = end + 1;
      }
    }
    return found;
  }();
  return colours;
}

}  // namespace

std::string lightColour(geometry::ColourRole role) {
  const auto found = lightColours().find(geometry::roleKey(role));
  PIPESCOPE_CHECK(found != lightColours().end(), "the theme lacks " + geometry::roleKey(role));
  return found->second;
}

}  // namespace pipescope::exporting
