#include "views/workbench/draft.h"

#include <QDir>
#include <QRegularExpression>
#include <algorithm>

namespace pipescope::workbench {
namespace {

/// The array, index and inner path of "stages[2].blocks"; an empty array if the path has none.
struct EntryPath {
  QString array, inner;
  int index = -1;
};

EntryPath entryPath(const QString& path) {
  const int open = path.indexOf(QLatin1Char('[')), close = path.indexOf(QLatin1Char(']'));
  if (open < 0 || close < open) return {};
  return {path.left(open), path.mid(close + 2), path.mid(open + 1, close - open - 1).toInt()};
}

QString tableOf(const QString& path) {
  return path.section(QLatin1Char('.'), 0, -2);
}

QString lastPart(const QString& path) {
  return path.section(QLatin1Char('.'), -1);
}

/// Negative numbers stand for words of a key, which files name.
QString asInFiles(const KeyRow& key, const QString& toml) {
  bool isNumber = false;
  const int number = toml.toInt(&isNumber);
  if (key.type != ValueType::integer || !isNumber || number >= 0) return toml;
  return -1 - number < key.choices.size() ? quoted(key.choices[-1 - number]) : toml;
}

}  // namespace

Keys::Keys(std::vector<KeyRow> rows) : rows_(std::move(rows)) {
  for (std::size_t i = 0; i < rows_.size(); ++i) index_.insert(rows_[i].path, static_cast<int>(i));
}

const KeyRow* Keys::of(const QString& path) const {
  const auto found = index_.find(keyPath(path));
  return found == index_.end() ? nullptr : &rows_[static_cast<std::size_t>(*found)];
}

QStringList Keys::arrays() const {
  QStringList arrays;
  for (const KeyRow& key : rows_) {
    const QString array = entryPath(key.path).array;
    if (!array.isEmpty() && !arrays.contains(array)) arrays << array;
  }
  return arrays;
}

QString keyPath(const QString& path) {
  const int open = path.indexOf(QLatin1Char('[')), close = path.indexOf(QLatin1Char(']'));
  return open < 0 || close < open ? path : path.left(open + 1) + path.mid(close);
}

QStringList Draft::assign(const std::vector<FormSetting>& settings) {
  values_.clear();
  QStringList unknown;
  for (const FormSetting& setting : settings) {
    const KeyRow* key = keys_->of(setting.path);
    if (key == nullptr) {
      unknown << setting.path;
    } else {
      values_[setting.path] = asInFiles(*key, setting.value);
    }
  }
  return unknown;
}

QString Draft::value(const QString& path) const {
  const auto found = values_.find(path);
  if (found != values_.end()) return *found;
  const KeyRow* key = keys_->of(path);
  if (key == nullptr) return {};
  if (key->chooser.isEmpty()) return key->fallback;
  return key->fallbackOf.value(unquoted(value(key->chooser)), key->fallback);
}

bool Draft::applies(const KeyRow& key) const {
  return key.chooser.isEmpty() || key.fallbackOf.contains(unquoted(value(key.chooser)));
}

int Draft::count(const QString& array) const {
  int count = 0;
  for (auto at = values_.begin(); at != values_.end(); ++at) {
    const EntryPath entry = entryPath(at.key());
    if (entry.array == array) count = std::max(count, entry.index + 1);
  }
  return count;
}

void Draft::removeEntry(const QString& array, int index) {
  QMap<QString, QString> kept;
  for (auto at = values_.begin(); at != values_.end(); ++at) {
    const EntryPath entry = entryPath(at.key());
    if (entry.array != array || entry.index < index) kept.insert(at.key(), *at);
    if (entry.array == array && entry.index > index)
      kept.insert(QStringLiteral("%1[%2].%3").arg(array).arg(entry.index - 1).arg(entry.inner), *at);
  }
  values_ = kept;
}

void Draft::clear(const QString& array) {
  for (const QString& path : values_.keys()) {
    if (entryPath(path).array == array) values_.remove(path);
  }
}

std::vector<FormSetting> Draft::settings() const {
  std::vector<FormSetting> all;
  const auto add = [&](const QString& path) {
    if (!values_.contains(path)) return;
    const QString value = values_[path];
    const bool isPath = keys_->of(path)->isPath && !unquoted(value).isEmpty();
    all.push_back({path, isPath ? quoted(QDir::current().absoluteFilePath(unquoted(value))) : value});
  };
  // A file may name a table only once.
  QStringList tables;
  for (const KeyRow& key : keys_->all()) {
    const QString table = tableOf(key.path);
    if (!key.path.contains(QStringLiteral("[]")) && !tables.contains(table)) tables << table;
  }
  for (const QString& table : tables) {
    for (const KeyRow& key : keys_->all()) {
      if (tableOf(key.path) == table) add(key.path);
    }
  }
  for (const QString& array : keys_->arrays()) {
    const int entries = count(array);
    for (int i = 0; i < entries; ++i) {
      for (const KeyRow& key : keys_->all()) {
        const EntryPath entry = entryPath(key.path);
        if (entry.array == array) add(QStringLiteral("%1[%2].%3").arg(array).arg(i).arg(entry.inner));
      }
    }
  }
  return all;
}

QString Draft::toml() const {
  QString text, heading;
  for (const FormSetting& setting : settings()) {
    const EntryPath entry = entryPath(setting.path);
    const QString table = tableOf(setting.path);
    if (table != heading) {
      heading = table;
      if (!text.isEmpty()) text += QLatin1Char('\n');
      text += entry.array.isEmpty() ? QStringLiteral("[%1]\n").arg(table)
                                    : QStringLiteral("[[%1]]\n").arg(entry.array);
    }
    text += QStringLiteral("%1 = %2\n").arg(lastPart(setting.path), setting.value);
  }
  return text;
}

QString Draft::fileName() const {
  QString name = unquoted(value(QStringLiteral("model.name")));
  if (!given(QStringLiteral("model.name"))) {
    const QString builder = unquoted(value(QStringLiteral("model.builder")));
    const bool hasModel = given(QStringLiteral("model.onnx")) || count(QStringLiteral("model.layers")) > 0;
    // A run without a model is named after its system.
    name = !builder.isEmpty() ? builder : hasModel ? name : unquoted(value(QStringLiteral("system.name")));
  }
  static const QRegularExpression other(QStringLiteral("[^A-Za-z0-9_.+-]+"));
  name.replace(other, QStringLiteral("_"));
  while (name.startsWith(QLatin1Char('.'))) name.remove(0, 1);
  return name.isEmpty() ? QStringLiteral("run") : name.left(80);
}

std::vector<FormSetting> settingsOfRun(const std::vector<model::ConfigurationEntry>& options,
                                       const Keys& keys) {
  const auto strength = [&](const char* path) {
    for (const model::ConfigurationEntry& row : options) {
      if (row.path != path) continue;
      return QStringList({QStringLiteral("default"), QStringLiteral("derived"), QStringLiteral("model"),
                          QStringLiteral("file"), QStringLiteral("environment"), QStringLiteral("flag")})
          .indexOf(QString::fromStdString(row.origin));
    }
    return 0;
  };
  // All keys in a file are equally strong, so a key that a stronger one had replaced must go.
  QStringList replaced{QStringLiteral("execution.instances")};  // the launcher of several processes sets it
  if (strength("execution.strategy") > strength("execution.schedule"))
    replaced << QStringLiteral("execution.schedule");
  // The program derives its values again.
  static const QStringList own{QStringLiteral("default"), QStringLiteral("derived"), QStringLiteral("model")};
  std::vector<FormSetting> settings;
  for (const model::ConfigurationEntry& row : options) {
    const QString path = QString::fromStdString(row.path);
    if (own.contains(QString::fromStdString(row.origin)) || replaced.contains(path)) continue;
    const KeyRow* key = keys.of(path);
    const QString value = QString::fromStdString(row.value);
    settings.push_back({path, key == nullptr ? value : asInFiles(*key, value)});
  }
  return settings;
}

QString quoted(const QString& text) {
  QString toml = QStringLiteral("\"");
  for (const QChar c : text) {
    if (c == QLatin1Char('"') || c == QLatin1Char('\\')) toml += QLatin1Char('\\');
    if (c.unicode() < 0x20) {
      toml += QStringLiteral("\\u%1").arg(c.unicode(), 4, 16, QLatin1Char('0'));
    } else {
      toml += c;
    }
  }
  return toml + QLatin1Char('"');
}

QString unquoted(const QString& toml) {
  if (toml.size() < 2 || !toml.startsWith(QLatin1Char('"')) || !toml.endsWith(QLatin1Char('"'))) return toml;
  QString text;
  for (int i = 1; i + 1 < toml.size(); ++i) {
    if (toml[i] != QLatin1Char('\\') || i + 2 >= toml.size()) {
      text += toml[i];
    } else if (toml[++i] == QLatin1Char('u')) {
      text += QChar(toml.mid(i + 1, 4).toInt(nullptr, 16));
      i += 4;
    } else {
      text += toml[i];
    }
  }
  return text;
}

QString quotedList(const QStringList& texts) {
  QStringList all;
  for (const QString& text : texts) all << quoted(text);
  return QStringLiteral("[%1]").arg(all.join(QStringLiteral(", ")));
}

QStringList listOf(const QString& toml) {
  static const QRegularExpression item(QStringLiteral("\"(?:[^\"\\\\]|\\\\.)*\""));
  QStringList texts;
  for (auto at = item.globalMatch(toml); at.hasNext();) texts << unquoted(at.next().captured());
  return texts;
}

}  // namespace pipescope::workbench
