#include "views/shell/look/embedded.h"

#include <span>
#include <string_view>
#include <utility>

namespace pipescope::shell {

std::span<const std::pair<std::string_view, std::string_view>> embeddedFiles();  // generated

QString embeddedText(const QString& name) {
  const std::string wanted = name.toStdString();
  for (const auto& [path, text] : embeddedFiles()) {
    if (path == wanted) return QString::fromUtf8(text.data(), static_cast<int>(text.size()));
  }
  return {};
}

}  // namespace pipescope::shell
