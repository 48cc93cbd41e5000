#include "app/gui/workbench_services.h"

#include <QCoreApplication>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QStandardPaths>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "app/gui/open_profile.h"
#include "app/gui/samples.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/config/configuration_help.h"

namespace pipescope::gui {
namespace {

using workbench::FormSetting;
using workbench::KeyRow;
using workbench::Problem;

QString qtText(const std::string& text) {
  return QString::fromStdString(text);
}

QStringList qtTexts(const std::vector<std::string>& texts) {
  QStringList all;
  for (const std::string& each : texts) all << qtText(each);
  return all;
}

workbench::ValueType valueType(config::KeyType type) {
  using workbench::ValueType;
  switch (type) {
    case config::KeyType::boolean:
      return ValueType::boolean;
    case config::KeyType::integer:
      return ValueType::integer;
    case config::KeyType::real:
      return ValueType::real;
    case config::KeyType::integers:
      return ValueType::integers;
    case config::KeyType::texts:
      return ValueType::texts;
    case config::KeyType::text:
      break;
  }
  return ValueType::text;
}

/// The name of a file in errors, which is taken out again.
constexpr const char* kDraft = "settings";

/// An error of the reader without the place in the text, which the user has never seen.
QString withoutPlace(const std::string& message) {
  const std::string head = std::string(kDraft) + ":";
  if (!message.starts_with(head)) return qtText(message);
  const std::size_t end = message.find_first_not_of("0123456789: ", head.size());
  return qtText(end == std::string::npos ? message : message.substr(end));
}

/// "stages[2].device" as its table and key: "[[stages]]" and "device".
std::pair<std::string, std::string> headingAndKey(const std::string& path) {
  const std::size_t dot = path.rfind('.'), open = path.find('[');
  const std::string table = path.substr(0, dot);
  return {open == std::string::npos ? "[" + table + "]" : "[[" + path.substr(0, open) + "]]",
          path.substr(dot + 1)};
}

/// The text of some settings, those of one table or one entry of an array together.
std::string tomlOf(const std::vector<FormSetting>& settings) {
  std::string text, last;
  for (const FormSetting& setting : settings) {
    const std::string path = setting.path.toStdString();
    const auto [heading, key] = headingAndKey(path);
    const std::string table = path.substr(0, path.rfind('.'));
    if (table != last) text += heading + "\n";
    last = table;
    text += key + " = " + setting.value.toStdString() + "\n";
  }
  return text;
}

/// The settings that are wrong by themselves. An entry of an array is checked as a whole, because it may lack
/// a setting.
std::vector<Problem> wrongSettings(const std::vector<FormSetting>& settings) {
  std::vector<Problem> problems;
  std::map<QString, std::vector<FormSetting>> entries;
  for (const FormSetting& setting : settings) {
    if (setting.path.contains(QLatin1Char('['))) {
      entries[setting.path.section(QLatin1Char('.'), 0, -2)].push_back(setting);
      continue;
    }
    const auto parsed = app::parseConfiguration(tomlOf({setting}), kDraft);
    if (!parsed.ok()) problems.push_back({setting.path, withoutPlace(parsed.error().message)});
  }
  for (const auto& [entry, own] : entries) {
    const auto parsed = app::parseConfiguration(tomlOf(own), kDraft);
    if (parsed.ok()) continue;
    const QString sentence = withoutPlace(parsed.error().message);
    const auto named = std::ranges::find_if(own, [&](const FormSetting& setting) {
      return sentence.contains(QStringLiteral("[].") + setting.path.section(QLatin1Char('.'), -1) +
                               QLatin1Char(' '));
    });
    problems.push_back({named == own.end() ? own.front().path : named->path, sentence});
  }
  return problems;
}

/// The setting that a sentence is about: the first one whose path it names.
QString namedSetting(const QString& sentence, const std::vector<FormSetting>& settings) {
  QString found;
  int first = -1;
  for (const FormSetting& setting : settings) {
    const int at = sentence.indexOf(setting.path);
    const bool earlier = first < 0 || at < first || (at == first && setting.path.size() > found.size());
    if (at >= 0 && earlier) first = at, found = setting.path;
  }
  return found;
}

base::Status checkWhole(const std::vector<FormSetting>& settings) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::parseConfiguration(tomlOf(settings), kDraft));
  PIPESCOPE_TRY(configuration.applyEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); }));
  return app::checkRun(configuration);
}

/// The table of keys as plain values.
std::vector<KeyRow> keyRows(const config::KeyTable& keys) {
  std::vector<KeyRow> rows;
  for (const config::Key& key : keys.all()) {
    KeyRow row;
    row.path = qtText(key.path);
    row.type = valueType(key.type);
    row.unit = qtText(key.unit);
    row.fallback = qtText(config::toToml(key.fallback));
    row.facts = qtText(config::keyFacts(key));
    row.help = qtText(key.help);
    row.choices = qtTexts(key.choices);
    row.chooser = qtText(key.chooser);
    for (const auto& [choice, value] : key.fallbackOf)
      row.fallbackOf.insert(qtText(choice), qtText(config::toToml(value)));
    row.required = key.required;
    row.isPath = key.path == "model.onnx" || key.path == "data.directory";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<workbench::Preset> presetsIn(const QStringList& folders) {
  std::vector<workbench::Preset> presets;
  for (const QString& folder : folders) {
    for (QDirIterator at(folder, {QStringLiteral("*.toml")}, QDir::Files, QDirIterator::Subdirectories);
         at.hasNext();) {
      QFile file(at.next());
      const QString name = QDir(folder).relativeFilePath(file.fileName());
      QString doc;
      if (file.open(QIODevice::ReadOnly)) {
        while (!file.atEnd()) {
          const QString line = QString::fromUtf8(file.readLine(4096)).trimmed();
          if (!line.startsWith(QLatin1Char('#'))) break;
          doc += (doc.isEmpty() ? QString() : QStringLiteral(" ")) + line.mid(1).trimmed();
        }
      }
      presets.push_back({name.chopped(5), doc, QDir::cleanPath(file.fileName())});
    }
    if (!presets.empty()) break;
  }
  std::ranges::sort(presets, {}, &workbench::Preset::name);
  return presets;
}

base::Result<std::vector<FormSetting>> readSettings(const QString& file) {
  // The settings are written to other folders later.
  const std::string path = std::filesystem::absolute(QFile::encodeName(file).toStdString()).string();
  PIPESCOPE_ASSIGN(const config::Configuration configuration, app::readConfiguration(path));
  std::vector<FormSetting> settings;
  for (const config::OptionRow& row : configuration.dump()) {
    if (row.origin != "default") settings.push_back({qtText(row.path), qtText(row.value)});
  }
  return settings;
}

std::vector<Problem> checkSettings(const std::vector<FormSetting>& settings) {
  std::vector<Problem> problems = wrongSettings(settings);
  if (!problems.empty()) return problems;
  if (const base::Status whole = checkWhole(settings); !whole.ok()) {
    const QString sentence = withoutPlace(whole.error().message);
    problems.push_back({namedSetting(sentence, settings), sentence});
  }
  return problems;
}

workbench::Services workbenchServices() {
  workbench::Services services;
  services.keys = keyRows(app::configurationKeys());
  services.program = QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("pipescope"));
  services.folder = QDir(QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation))
                        .filePath(QStringLiteral("pipescope/runs"));
  services.presets = [folders = sampleFolders()] { return presetsIn(folders); };
  services.read = readSettings;
  services.check = checkSettings;
  services.open = openProfile;
  return services;
}

}  // namespace pipescope::gui
