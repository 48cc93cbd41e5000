#include "views/workbench/key_value.h"

#include <QRegularExpression>
#include <cmath>

#include "views/workbench/draft.h"

namespace pipescope::workbench {
namespace {

/// The number as TOML writes it; empty: it is none.
QString wholeNumber(const QString& typed) {
  static const QRegularExpression digits(QStringLiteral("^[+-]?(0|[1-9][0-9]*)$"));
  if (digits.match(typed).hasMatch()) return typed;
  bool isNumber = false;
  const qlonglong number = typed.toLongLong(&isNumber);
  return isNumber ? QString::number(number) : QString();
}

QString realNumber(const QString& typed) {
  static const QRegularExpression plain(
      QStringLiteral("^[+-]?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"));
  if (plain.match(typed).hasMatch()) return typed;
  bool isNumber = false;
  const double number = typed.toDouble(&isNumber);
  return isNumber && std::isfinite(number) ? QString::number(number, 'g', 16) : QString();
}

QString wholeNumbers(const QString& typed) {
  QString inner = typed;
  if (inner.startsWith(QLatin1Char('[')) && inner.endsWith(QLatin1Char(']')))
    inner = inner.mid(1, inner.size() - 2);
  QStringList numbers;
  for (const QString& one : inner.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    numbers << wholeNumber(one.trimmed());
    if (numbers.back().isEmpty()) return quoted(typed);
  }
  return QStringLiteral("[%1]").arg(numbers.join(QStringLiteral(", ")));
}

QString texts(const QString& typed) {
  if (typed.startsWith(QLatin1Char('[')) && typed.endsWith(QLatin1Char(']'))) return typed;
  QStringList all;
  for (const QString& one : typed.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (!one.trimmed().isEmpty()) all << one.trimmed();
  }
  return quotedList(all);
}

}  // namespace

QString typedText(const KeyRow& key, const QString& toml) {
  if (key.type == ValueType::text) return unquoted(toml);
  if (key.type == ValueType::integer) {
    bool isNumber = false;
    const int word = -1 - toml.toInt(&isNumber);
    return isNumber && word >= 0 && word < key.choices.size() ? key.choices[word] : unquoted(toml);
  }
  if (key.type == ValueType::integers && toml.startsWith(QLatin1Char('[')))
    return toml.mid(1, toml.size() - 2);
  if (key.type == ValueType::texts) {
    const QStringList all = listOf(toml);
    const QString joined = all.join(QStringLiteral(", "));
    return quotedList(all) == toml && texts(joined) == toml ? joined : toml;  // elements may hold commas
  }
  return unquoted(toml);
}

QString tomlOf(const KeyRow& key, const QString& typed) {
  const QString trimmed = typed.trimmed();
  const auto orText = [&](const QString& toml) { return toml.isEmpty() ? quoted(trimmed) : toml; };
  switch (key.type) {
    case ValueType::boolean:
      return trimmed == QLatin1String("true") || trimmed == QLatin1String("false") ? trimmed
                                                                                   : quoted(trimmed);
    case ValueType::integer:
      return orText(wholeNumber(trimmed));
    case ValueType::real:
      return orText(realNumber(trimmed));
    case ValueType::integers:
      return wholeNumbers(trimmed);
    case ValueType::texts:
      return texts(trimmed);
    case ValueType::text:
      break;
  }
  return quoted(typed);
}

}  // namespace pipescope::workbench
