#include "views/pages/parts/text.h"

#include <QRegularExpression>

namespace pipescope::pages {

QString unbroken(QString text) {
  static const QRegularExpression figure(QStringLiteral("(\\d|×) (?=[^\\W\\d]|[%×÷/])"),
                                         QRegularExpression::UseUnicodePropertiesOption);
  return text.replace(figure, QStringLiteral("\\1\u00a0"));
}

}  // namespace pipescope::pages
