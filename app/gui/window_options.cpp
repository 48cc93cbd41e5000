#include "app/gui/window_options.h"

#include <QRegularExpression>

#include "engine/config/suggestion.h"
#include "views/shell/look/picture_format.h"

namespace pipescope::gui {
namespace {

struct Definition {
  const char *name, *value, *help;
};
constexpr Definition kDefinitions[] = {
    {"page", "PAGE",
     "the page to open: summary, insights, pipeline, trace, stages, waits, engines, operations, memory, "
     "liveness, programs, graph, system, host, training, stragglers, recorded, compare, what-if or sweep; or "
     "workbench: the settings of PROFILE, to edit and run again"},
    {"compare", "SOURCE", "compare the profile SOURCE with PROFILE, which is the target"},
    {"executable", "NAME", "the executable to show: training, inference …"},
    {"at", "TIME", "the time to show on the trace: cycles as 12345, or a length as 1.5ms"},
    {"lane", "DEVICE", "the device to show on the trace, such as IPU2"},
    {"screenshot", "FILE",
     "draw the page into a .png, .jpg or .bmp file (- is standard output, as PNG) and end; needs no display"},
    {"overwrite", "", "let the picture replace a file that is not a PNG picture"},
    {"size", "WxH", "size of the window or picture in pixels (pictures: 1600x900)"},
    {"theme", "THEME", "light or dark, instead of the saved choice"},
    {"help", "", "print this text and end"},
    {"version", "", "print the version and end"}};

/// The end of a sentence about an unknown word: "; did you mean --page?", or a full stop.
QString didYouMean(const QString& word, const std::vector<std::string>& known) {
  const std::string near = config::nearest(word.toStdString(), known);
  return near.empty() ? QStringLiteral(".")
                      : QStringLiteral("; did you mean %1?").arg(QString::fromStdString(near));
}

base::Error usage(const QString& sentence) {
  return base::badInput((sentence + QStringLiteral(" See pipescope-gui --help.")).toStdString());
}

base::Error unknownOption(const QString& typed) {
  std::vector<std::string> known;
  for (const Definition& definition : kDefinitions) known.push_back(std::string("--") + definition.name);
  return usage(QStringLiteral("There is no option %1%2").arg(typed, didYouMean(typed, known)));
}

base::Result<QSize> parseSize(const QString& text) {
  static const QRegularExpression pattern(QStringLiteral("^(\\d{2,5})[x×](\\d{2,5})$"));
  const auto match = pattern.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  if (!match.hasMatch() || size.width() < 320 || size.height() < 240 || size.width() > 16000 ||
      size.height() > 16000) {
    return usage(
        QStringLiteral(
            "--size %1 is not a size: give width and height between 320x240 and 16000x16000, as in 1600x900.")
            .arg(text));
  }
  return size;
}

base::Status take(WindowOptions& options, const QString& name, const QString& value) {
  if (name == QLatin1String("page")) options.page = value;
  if (name == QLatin1String("executable")) options.executable = value;
  if (name == QLatin1String("compare")) options.compare = value;
  if (name == QLatin1String("at")) options.at = value;
  if (name == QLatin1String("lane")) options.lane = value;
  if (name == QLatin1String("screenshot")) options.screenshot = value;
  if (name == QLatin1String("overwrite")) options.overwrite = true;
  if (name == QLatin1String("help")) options.help = true;
  if (name == QLatin1String("version")) options.version = true;
  if (name == QLatin1String("size")) {
    PIPESCOPE_ASSIGN(options.size, parseSize(value));
  }
  if (name == QLatin1String("theme")) {
    if (value != QLatin1String("light") && value != QLatin1String("dark"))
      return usage(QStringLiteral("--theme %1 is unknown: give light or dark.").arg(value));
    options.theme = value;
  }
  return {};
}

}  // namespace

base::Result<WindowOptions> parseOptions(const QStringList& arguments) {
  WindowOptions options;
  QStringList given;
  bool onlyFiles = false;
  for (int i = 0; i < arguments.size(); ++i) {
    const QString& argument = arguments[i];
    if (onlyFiles || !argument.startsWith(QLatin1Char('-')) || argument == QLatin1String("-")) {
      options.profiles << argument;
      continue;
    }
    if (argument == QLatin1String("--")) {
      onlyFiles = true;
      continue;
    }
    if (argument == QLatin1String("-h")) {
      options.help = true;
      continue;
    }
    const QString name = argument.section(QLatin1Char('='), 0, 0).mid(2);
    const auto definition = std::find_if(std::begin(kDefinitions), std::end(kDefinitions),
                                         [&](const Definition& d) { return name == QLatin1String(d.name); });
    if (!argument.startsWith(QStringLiteral("--")) || definition == std::end(kDefinitions))
      return unknownOption(argument.section(QLatin1Char('='), 0, 0));
    const bool wantsValue = *definition->value != '\0', hasValue = argument.contains(QLatin1Char('='));
    if (!wantsValue && hasValue) return usage(QStringLiteral("--%1 takes no value.").arg(name));
    if (wantsValue && !hasValue && i + 1 >= arguments.size())
      return usage(QStringLiteral("--%1 needs a value (%2).").arg(name, QString::fromUtf8(definition->help)));
    const QString value = !wantsValue ? QString()
                          : hasValue  ? argument.section(QLatin1Char('='), 1)
                                      : arguments[++i];
    if (wantsValue && value.isEmpty())
      return usage(QStringLiteral("--%1 names nothing: give it a value, or leave it out.").arg(name));
    if (given.contains(name))
      return usage(QStringLiteral("--%1 is given several times: leave all but one out.").arg(name));
    given << name;
    PIPESCOPE_TRY(take(options, name, value));
  }
  if (!options.screenshot.isEmpty() && options.profiles.size() > 1)
    return usage(QStringLiteral("--screenshot takes one profile."));
  if (!options.screenshot.isEmpty()) {
    if (const auto format = shell::pictureFormatOf(options.screenshot, false); !format.ok())
      return usage(QString::fromStdString(format.error().message));
  }
  if (!options.compare.isEmpty() && options.profiles.size() != 1)
    return usage(
        QStringLiteral("--compare SOURCE compares with one profile: pipescope-gui --compare SOURCE TARGET."));
  if (options.overwrite && options.screenshot.isEmpty())
    return usage(QStringLiteral("--overwrite is about the file of --screenshot, which is not given."));
  return options;
}

QString helpText() {
  QString text = QStringLiteral(
      "usage: pipescope-gui [PROFILE …] [options]\n\n"
      "Shows profiles that pipescope run has recorded, also while a run is still writing them. Each profile "
      "has a window of its own. A trace of another tool is imported first. A configuration (.toml) or a "
      "model "
      "(.onnx) opens in the workbench, where it can be changed and run.\n\n");
  for (const Definition& d : kDefinitions) {
    const QString option = QStringLiteral("--%1 %2").arg(QLatin1String(d.name), QLatin1String(d.value));
    text += QStringLiteral("  %1%2\n").arg(option, -22).arg(QString::fromUtf8(d.help));
  }
  return text;
}

}  // namespace pipescope::gui
