#pragma once
#include <QString>

namespace pipescope::shell {

/// The text of a file below resources/ that is built in, "icons/open.svg"; empty where there is none.
QString embeddedText(const QString& name);

}  // namespace pipescope::shell
