#include "views/pages/parts/data/setting_words.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

QString settingTr(const char* words) {
  return QCoreApplication::translate("SettingWords", words);
}

/// Keys of one subject each, such as a stage or a link, hold one of these words in place of its name.
constexpr const char* kSubjectWords[] = {"NAME", "N"};

}  // namespace

QString settingInWords(const QString& key) {
  QString words = key.section(QLatin1Char('.'), -1);
  words.replace(QLatin1Char('_'), QLatin1Char(' '));
  return words.replace(QStringLiteral("micro batch"), QStringLiteral("micro-batch"));
}

std::pair<const replay::ChangeKind*, std::string> changeKindOf(const std::string& key) {
  for (const replay::ChangeKind& kind : replay::changeKinds()) {
    if (kind.key == key) return {&kind, {}};
  }
  for (const replay::ChangeKind& kind : replay::changeKinds()) {
    for (const std::string word : kSubjectWords) {
      const std::size_t at = kind.key.find("." + word + ".");
      if (at == std::string::npos) continue;
      const std::string before = kind.key.substr(0, at + 1), after = kind.key.substr(at + 1 + word.size());
      if (key.size() > before.size() + after.size() && key.starts_with(before) && key.ends_with(after))
        return {&kind, key.substr(before.size(), key.size() - before.size() - after.size())};
    }
  }
  return {nullptr, {}};
}

QString changeValueInWords(const std::string& key, const std::string& value) {
  if (value.starts_with("*")) return QStringLiteral("× ") + text(value.substr(1));
  if (key == replay::kRecomputeKey && value == "none") return settingTr("none, results are kept");
  if (key == replay::kRecomputeKey && value == "pipeline") return settingTr("all of each stage");
  const std::size_t colon = value.rfind(':');
  if (key == "move" && colon != std::string::npos)
    return settingTr("%1 to stage %2").arg(text(value.substr(0, colon)), text(value.substr(colon + 1)));
  return value == "true" ? settingTr("on") : value == "false" ? settingTr("off") : text(value);
}

QString changeInWords(const replay::Change& change) {
  const auto [kind, name] = changeKindOf(change.key);
  const QString value = changeValueInWords(change.key, change.value);
  if (kind == nullptr) return QStringLiteral("%1: %2").arg(settingInWords(text(change.key)), value);
  if (name.empty()) return QStringLiteral("%1: %2").arg(text(kind->words), value);
  return kind->key.find(".NAME.") != std::string::npos
             ? settingTr("bandwidth of %1: %2").arg(text(name), value)
             : settingTr("%1 of stage %2: %3").arg(text(kind->words), text(name), value);
}

QString changesInWords(const QString& changes) {
  QStringList words;
  for (const QString& change : changes.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const base::Result<replay::Change> parsed = replay::parseChange(change.toStdString());
    words << (parsed.ok() ? changeInWords(*parsed) : change);
  }
  return words.join(settingTr(" and "));
}

QString withSettingsInWords(const QString& sentence, const analysis::Catalog& catalog) {
  static const QRegularExpression kChanges(
      QStringLiteral("(?<![\\w.])(?:--set )?((?:[a-z_]+(?:\\.\\w+)+(?: = |=)|move=)[^\\s=]*[^\\s=.,;:])(?: "
                     "(?=(?:--set )?[\\w.]+=))?")),
      kFlags(QStringLiteral("(?<![\\w-])--([a-z]+(?:-[a-z]+)*) (\\d+)(?![\\w.]*\\w)"));
  QString words;
  int from = 0;
  for (auto found = kChanges.globalMatch(sentence); found.hasNext();) {
    const QRegularExpressionMatch match = found.next();
    words += sentence.mid(from, match.capturedStart() - from);
    words += QStringLiteral("“%1”").arg(
        changesInWords(match.captured(1).replace(QStringLiteral(" = "), QStringLiteral("="))));
    from = match.capturedEnd();
    if (sentence.mid(from - 1, 1) == QLatin1String(" ")) words += settingTr("and ").prepend(QLatin1Char(' '));
  }
  words += sentence.mid(from);
  for (auto flag = kFlags.match(words); flag.hasMatch(); flag = kFlags.match(words)) {
    const QString name = flag.captured(1).replace(QLatin1Char('-'), QLatin1Char('_'));
    words.replace(flag.capturedStart(), flag.capturedLength(),
                  QStringLiteral("“%1: %2”").arg(settingInWords(name), flag.captured(2)));
  }
  for (const model::ConfigurationEntry& entry : catalog.configuration) {
    const QString path = text(entry.path), key = path.section(QLatin1Char('.'), -1);
    if (!words.contains(key)) continue;
    for (const QString& named : {path, key}) {
      if (named == key && !key.contains(QLatin1Char('_'))) continue;  // an ordinary word
      const QRegularExpression alone(
          QStringLiteral("(?<![\\w./-])%1(?![\\w/-])").arg(QRegularExpression::escape(named)));
      words.replace(alone, settingInWords(key));
    }
  }
  return words;
}

}  // namespace pipescope::pages
