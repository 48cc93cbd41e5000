#include "views/pages/parts/data/text.h"

#include <QRegularExpression>

namespace pipescope::pages {

QString unbroken(QString text) {
  static const QRegularExpression figure(QStringLiteral("(\\d|×) (?=[^\\W\\d]|[%×÷/])"),
                                         QRegularExpression::UseUnicodePropertiesOption);
  text.replace(figure, QStringLiteral("\\1\u00a0"));
  // A list breaks between its items: "fill 36,158 · drain 27,459".
  constexpr int kLongestItem = 32;
  QStringList items = text.split(QStringLiteral(" · "));
  for (QString& item : items) {
    if (items.size() > 1 && item.size() <= kLongestItem) item.replace(QLatin1Char(' '), QChar::Nbsp);
  }
  return items.join(QStringLiteral(" · "));
}

}  // namespace pipescope::pages
