#include "views/shell/help/help_book.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>

#include "profiler/base/check.h"
#include "profiler/sections/frame/schema.h"
#include "views/shell/look/embedded.h"

namespace pipescope::shell {
namespace {

/// Topics in the order of the contents.
const char* const kFiles[] = {"questions", "pages", "glossary", "trust", "configuration", "operators"};

/// A figure or a column with its meaning, as an entry of a list.
QString meaningOf(const std::string& key, const std::string& meaning) {
  return QStringLiteral("- `%1`: %2\n").arg(QString::fromStdString(key), QString::fromStdString(meaning));
}

/// A table of a section as a part of its own.
QString tablePart(const sections::SectionTable& table) {
  QString part = QStringLiteral("\n### %1\n\n").arg(QString::fromStdString(table.title));
  if (!table.basis.empty())
    part += QStringLiteral("Figures: %1.\n\n").arg(QString::fromStdString(table.basis));
  for (const sections::SectionColumn& column : table.columns)
    part += meaningOf(column.key, sections::meaningOf(column));
  return part;
}

/// The sections of the reports with the meanings of their figures and columns.
HelpTopic sectionsTopic() {
  QString text = QStringLiteral(
      "# Sections of the reports\n\n`pipescope report PROFILE --section NAME` prints one of them. Pages show "
      "the same figures.\n");
  const auto all = sections::emptySections();
  PIPESCOPE_CHECK(all.ok(), "sections of a profile in which nothing ran");
  for (const auto& [definition, section] : *all) {
    text += QStringLiteral("\n## %1\n\n%2.\n\n")
                .arg(QString::fromStdString(definition->name), QString::fromStdString(definition->doc));
    for (const sections::Fact& fact : section.facts)
      if (!fact.doc.empty()) text += meaningOf(fact.key, fact.doc);
    for (const sections::SectionTable& table : section.tables) text += tablePart(table);
  }
  return {QStringLiteral("sections"), QStringLiteral("Sections of the reports"), text};
}

/// The text with the names of pages as the window shows them: "What if" for what-if, by which programs name
/// it.
QString withTitlesOfPages(const QString& text) {
  QStringList lines = text.split(QLatin1Char('\n'));
  for (QString& line : lines) {
    if (!line.startsWith(QLatin1String("## "))) continue;
    line.replace(QLatin1Char('-'), QLatin1Char(' '));
    line[3] = line[3].toUpper();
  }
  return lines.join(QLatin1Char('\n'));
}

/// A line without the marks of Markdown.
QString plainLine(QString line) {
  static const QRegularExpression kLink(QStringLiteral("\\[([^\\]]*)\\]\\([^)]*\\)")),
      kMarks(QStringLiteral("[*`]|^[-#>] ?")), kCells(QStringLiteral("\\s*\\|(?:\\s*\\|)*\\s*"));
  line.replace(kLink, QStringLiteral("\\1"));
  line.remove(kMarks);
  line = line.trimmed();
  if (line.startsWith(QLatin1Char('|'))) line = line.mid(1, line.size() - 2).trimmed();
  line.replace(kCells, QStringLiteral(" · "));
  return line;
}

bool hasAll(const QString& text, const QStringList& words) {
  return std::ranges::all_of(
      words, [&text](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

/// The line with the most of the words; the first one of several.
QString contextOf(const QString& text, const QStringList& words) {
  QString best;
  std::ptrdiff_t most = -1;
  for (const QString& line : text.split(QLatin1Char('\n'))) {
    const QString plain = plainLine(line);
    if (plain.isEmpty() || plain.contains(QStringLiteral("---"))) continue;
    const auto own = std::ranges::count_if(
        words, [&plain](const QString& word) { return plain.contains(word, Qt::CaseInsensitive); });
    if (own > most) {
      most = own;
      best = plain;
    }
  }
  return best;
}

}  // namespace

QString helpAnchor(const QString& heading) {
  static const QRegularExpression kLeftOut(QStringLiteral("[^\\w\\- ]"),
                                           QRegularExpression::UseUnicodePropertiesOption);
  QString anchor = heading.toLower();
  anchor.remove(kLeftOut);
  return anchor.replace(QLatin1Char(' '), QLatin1Char('-'));
}

HelpBook::HelpBook(std::vector<HelpTopic> topics) : topics_(std::move(topics)) {
  static const QRegularExpression kHeading(QStringLiteral("^(#{1,3}) (.+)$"));
  for (const HelpTopic& topic : topics_) {
    QString above;  // anchor of the second level
    bool code = false;
    for (const QString& line : topic.markdown.split(QLatin1Char('\n'))) {
      if (line.startsWith(QStringLiteral("```"))) code = !code;
      const auto heading = kHeading.match(line);
      if (code || !heading.hasMatch()) {
        if (!sections_.empty() && sections_.back().topic == topic.name)
          sections_.back().text += line + QLatin1Char('\n');
        continue;
      }
      HelpSection section{topic.name, plainLine(heading.captured(2)), {}, heading.captured(1).size(), {}};
      section.anchor = helpAnchor(section.title);
      if (section.level == 2) above = section.anchor;
      if (section.level == 3) section.anchor = above + QLatin1Char('/') + section.anchor;
      sections_.push_back(std::move(section));
    }
  }
}

const HelpBook& HelpBook::builtIn() {
  static const HelpBook book = [] {
    // Links to files outside the help lead nowhere in an installed program, so their words stand alone.
    const QRegularExpression kOutside(QStringLiteral("\\[([^\\]]*)\\]\\(\\.\\./[^)]*\\)"));
    std::vector<HelpTopic> topics;
    for (const char* name : kFiles) {
      const QString file = QString::fromLatin1(name);
      QString text = embeddedText(QStringLiteral("help/%1.md").arg(file));
      text.replace(kOutside, QStringLiteral("`\\1`"));
      if (file == QLatin1String("pages")) text = withTitlesOfPages(text);
      topics.push_back({file, text.section(QLatin1Char('\n'), 0, 0).mid(2), text});
      if (file == QLatin1String("pages")) topics.push_back(sectionsTopic());
    }
    return HelpBook(std::move(topics));
  }();
  return book;
}

const HelpTopic* HelpBook::topic(const QString& name) const {
  const auto found = std::ranges::find(topics_, name, &HelpTopic::name);
  return found == topics_.end() ? nullptr : &*found;
}

const HelpSection* HelpBook::section(const QString& topic, const QString& anchor) const {
  const auto found = std::ranges::find_if(sections_, [&](const HelpSection& section) {
    return section.topic == topic && (anchor.isEmpty() || section.anchor == anchor ||
                                      section.anchor.endsWith(QLatin1Char('/') + anchor));
  });
  return found == sections_.end() ? nullptr : &*found;
}

const HelpSection* HelpBook::panel(const QString& page, const QString& title) const {
  const QString end = QLatin1Char('/') + helpAnchor(title), anchor = helpAnchor(page) + end;
  for (const QString& topic : {QStringLiteral("pages"), QStringLiteral("sections")}) {
    const HelpSection* found = section(topic, anchor);
    if (found != nullptr && found->anchor == anchor) return found;
  }
  const auto table = std::ranges::find_if(sections_, [&end](const HelpSection& section) {
    return section.topic == QLatin1String("sections") && section.anchor.endsWith(end);
  });
  return table == sections_.end() ? nullptr : &*table;
}

std::vector<HelpHit> HelpBook::find(const QString& words) const {
  const QStringList wanted = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<HelpHit> hits;
  if (wanted.isEmpty()) return hits;
  for (const HelpSection& section : sections_) {
    if (hasAll(section.title + QLatin1Char('\n') + section.text, wanted))
      hits.push_back({&section, contextOf(section.text, wanted)});
  }
  const QString definition = wanted.join(QLatin1Char(' ')) + QLatin1Char(':');
  std::ranges::stable_sort(hits, {}, [&](const HelpHit& hit) {
    const bool defines = hit.context.startsWith(definition, Qt::CaseInsensitive);
    return hasAll(hit.section->title, wanted) ? 0 : defines ? 1 : 2;
  });
  return hits;
}

}  // namespace pipescope::shell
