#pragma once
// Services that the program gives to the workbench. These are plain values and functions, so that views need
// not know the engine, its table of keys, or the format of files.
#include <QMap>
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "profiler/base/result.h"
#include "views/shell/profile_session.h"

namespace pipescope::workbench {

enum class ValueType { boolean, integer, real, text, integers, texts };

/// A key of configurations. Values are TOML.
struct KeyRow {
  QString path;  ///< "training.epochs"; keys of arrays of tables as "stages[].blocks"
  ValueType type = ValueType::text;
  QString unit, fallback;
  QString facts;  ///< description of the values that the key takes, in one line: type, range, default
  QString help;
  QStringList choices = {};  ///< allowed texts; of whole numbers: words for −1, −2 …
  QString chooser = {};      ///< the key that decides whether this one has a meaning; empty: it always has
  QMap<QString, QString> fallbackOf = {};  ///< default for each value of the chooser
  bool required = false;                   ///< required within its table
  bool isPath = false;                     ///< a relative path starts at the folder of the file that holds it
};

/// One value of a configuration: "stages[0].blocks" and its value as TOML.
struct FormSetting {
  QString path, value;
  friend bool operator==(const FormSetting&, const FormSetting&) = default;
};

/// Reason why a configuration cannot run.
struct Problem {
  QString path;  ///< the setting that is wrong; empty: the configuration as a whole
  QString sentence;
};

/// A configuration to start from.
struct Preset {
  QString name, doc, file;
};

/// The functions are called on workers only.
struct Services {
  std::vector<KeyRow> keys;  ///< all keys, in the order of the help page
  QString program;           ///< path of pipescope
  QString folder;            ///< folder for profiles of runs unless the user chooses another one
  std::function<std::vector<Preset>()> presets;
  /// The settings of a configuration file, with absolute paths.
  std::function<base::Result<std::vector<FormSetting>>(const QString& file)> read;
  /// Finds what is wrong with a configuration; empty: it may be compiled.
  std::function<std::vector<Problem>(const std::vector<FormSetting>& settings)> check;
  shell::Opener open;
};

}  // namespace pipescope::workbench
