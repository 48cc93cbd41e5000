#include "views/shell/look/glossary.h"

#include <QStringList>

#include "views/shell/look/embedded.h"

namespace pipescope::shell {

const std::vector<std::pair<QString, QString>>& glossary() {
  static const std::vector<std::pair<QString, QString>> words = [] {
    std::vector<std::pair<QString, QString>> all;
    for (const QString& line : embeddedText(QStringLiteral("help/glossary.md")).split(QLatin1Char('\n'))) {
      const int colon = line.indexOf(QStringLiteral(": "));
      if (line.startsWith(QStringLiteral("- ")) && colon > 2)
        all.emplace_back(line.mid(2, colon - 2), line.mid(colon + 2));
    }
    return all;
  }();
  return words;
}

QString glossaryOf(const QString& word) {
  QString wanted = word.trimmed().toLower();
  for (const QString& start : {QStringLiteral("waits: "), QStringLiteral("→ ")}) {
    if (wanted.startsWith(start)) wanted = wanted.mid(start.size());
  }
  const QString single = wanted.endsWith(QLatin1Char('s')) ? wanted.left(wanted.size() - 1) : QString();
  for (const auto& [known, sentence] : glossary()) {
    if (known == wanted || known == single) return sentence;
  }
  return {};
}

}  // namespace pipescope::shell
