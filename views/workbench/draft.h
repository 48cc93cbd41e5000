#pragma once
// A configuration that the user edits: the values that are given, which are those that differ from the
// defaults.
#include <QHash>
#include <QMap>
#include <memory>
#include <vector>

#include "profiler/model/rows.h"
#include "views/workbench/services.h"

namespace pipescope::workbench {

/// The table of keys, found by path.
class Keys {
 public:
  explicit Keys(std::vector<KeyRow> rows);
  const std::vector<KeyRow>& all() const { return rows_; }
  /// The key of a setting: "stages[2].blocks" has the key "stages[].blocks". Null: there is none.
  const KeyRow* of(const QString& path) const;
  /// The arrays of tables, such as "model.layers", in the order of the keys.
  QStringList arrays() const;

 private:
  std::vector<KeyRow> rows_;
  QHash<QString, int> index_;
};

/// "stages[2].blocks" as the path of its key: "stages[].blocks".
QString keyPath(const QString& path);

class Draft {
 public:
  explicit Draft(std::shared_ptr<const Keys> keys) : keys_(std::move(keys)) {}
  const Keys& keys() const { return *keys_; }

  /// Takes the settings of known keys in place of all others. Returns the paths of the unknown ones.
  QStringList assign(const std::vector<FormSetting>& settings);

  bool given(const QString& path) const { return values_.contains(path); }
  /// The value as TOML: the one that is given, or the default.
  QString value(const QString& path) const;
  void set(const QString& path, const QString& toml) { values_[path] = toml; }
  void remove(const QString& path) { values_.remove(path); }
  /// False if another key decides that this one has no meaning.
  bool applies(const KeyRow& key) const;

  /// Entries of an array of tables.
  int count(const QString& array) const;
  void removeEntry(const QString& array, int index);
  void clear(const QString& array);

  /// All values, in the order of the keys. Paths are absolute, because files lie in several folders.
  std::vector<FormSetting> settings() const;
  /// The configuration as a file.
  QString toml() const;
  /// The name of the model, as a part of file names.
  QString fileName() const;

  friend bool operator==(const Draft& a, const Draft& b) { return a.values_ == b.values_; }

 private:
  std::shared_ptr<const Keys> keys_;
  QMap<QString, QString> values_;
};

/// The settings of a recorded run, so that the same configuration runs again.
std::vector<FormSetting> settingsOfRun(const std::vector<model::ConfigurationEntry>& options,
                                       const Keys& keys);

/// A text as TOML, and a TOML text without its quotes. Anything but a text in quotes stays as it is.
QString quoted(const QString& text);
QString unquoted(const QString& toml);
/// A list of texts in TOML, such as ["B1", "B2"], and back.
QString quotedList(const QStringList& texts);
QStringList listOf(const QString& toml);

}  // namespace pipescope::workbench
