#pragma once
#include <QString>

namespace pipescope::shell {

/// The text of a built-in file below resources/, such as "icons/open.svg"; empty if there is none.
QString embeddedText(const QString& name);

}  // namespace pipescope::shell
