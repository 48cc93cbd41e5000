#include "views/shell/look/palette.h"

#include <QApplication>
#include <QHash>
#include <QRegularExpression>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "profiler/base/check.h"
#include "views/shell/look/embedded.h"

namespace pipescope::shell {
namespace {

constexpr std::array kUiNames = {"window", "surface", "raised",  "sidebar",     "border",    "grid",
                                 "text",   "muted",   "accent",  "accent_text", "selection", "hover",
                                 "link",   "good",    "warning", "error"};
static_assert(kUiNames.size() == static_cast<std::size_t>(Ui::count));

/// The relative luminance as WCAG defines it.
double luminance(const QColor& colour) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

/// Parses lines "key = #rrggbb". A line that begins with # is a comment.
QHash<QString, QColor> parseTheme(const QString& text) {
  QHash<QString, QColor> colours;
  static const QRegularExpression line(QStringLiteral("^([a-z][a-z0-9_.]*) = (#[0-9a-f]{6})$"));
  for (const QString& row : text.split(QLatin1Char('\n'))) {
    if (const auto match = line.match(row); match.hasMatch())
      colours.insert(match.captured(1), QColor(match.captured(2)));
  }
  return colours;
}

}  // namespace

Palette::Palette(QObject* parent) : QObject(parent) {
  systemIsDark_ = luminance(QApplication::palette().color(QPalette::Window)) < 0.25;
  load();
}

void Palette::setTheme(Theme theme) {
  if (theme == theme_) return;
  theme_ = theme;
  load();
  Q_EMIT changed();
}

void Palette::setSafe(bool safe) {
  if (safe == safe_) return;
  safe_ = safe;
  load();
  Q_EMIT changed();
}

void Palette::load() {
  dark_ = theme_ == Theme::dark || (theme_ == Theme::system && systemIsDark_);
  auto colours = parseTheme(
      embeddedText(dark_ ? QStringLiteral("themes/dark.theme") : QStringLiteral("themes/light.theme")));
  if (safe_) {
    const auto over = parseTheme(embeddedText(QStringLiteral("themes/safe.theme")));
    for (auto entry = over.begin(); entry != over.end(); ++entry) colours.insert(entry.key(), entry.value());
    if (dark_) colours.insert(QStringLiteral("path.critical"), Qt::white);
  }
  const auto take = [&](const QString& key) {
    PIPESCOPE_CHECK(colours.contains(key), "the theme lacks " + key.toStdString());
    return colours.value(key);
  };
  for (std::size_t i = 0; i < roles_.size(); ++i)
    roles_[i] = take(QString::fromStdString(geometry::roleKey(static_cast<geometry::ColourRole>(i))));
  for (std::size_t i = 0; i < ui_.size(); ++i)
    ui_[i] = take(QStringLiteral("ui.") + QLatin1String(kUiNames[i]));
}

QColor Palette::textOn(const QColor& background) {
  const double light = luminance(background);
  const QColor dark(0x14, 0x18, 0x1e), bright(0xff, 0xff, 0xff);
  return (light + 0.05) / (luminance(dark) + 0.05) >= 1.05 / (light + 0.05) ? dark : bright;
}

QColor Palette::mixed(const QColor& colour, const QColor& below, double part) {
  const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a * part + b * (1 - part))); };
  return {mix(colour.red(), below.red()), mix(colour.green(), below.green()),
          mix(colour.blue(), below.blue())};
}

QPalette Palette::widgets() const {
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, Ui colour) { palette.setColor(role, ui(colour)); };
  set(QPalette::Window, Ui::window);
  set(QPalette::WindowText, Ui::text);
  set(QPalette::Base, Ui::surface);
  set(QPalette::AlternateBase, Ui::raised);
  set(QPalette::Text, Ui::text);
  set(QPalette::Button, Ui::raised);
  set(QPalette::ButtonText, Ui::text);
  set(QPalette::BrightText, Ui::error);
  set(QPalette::Highlight, Ui::accent);
  set(QPalette::HighlightedText, Ui::accentText);
  set(QPalette::Link, Ui::link);
  set(QPalette::LinkVisited, Ui::link);
  set(QPalette::ToolTipBase, Ui::raised);
  set(QPalette::ToolTipText, Ui::text);
  set(QPalette::PlaceholderText, Ui::muted);
  set(QPalette::Mid, Ui::border);
  set(QPalette::Dark, Ui::border);
  palette.setColor(QPalette::Light, mixed(ui(Ui::surface), ui(Ui::raised), 0.5));
  palette.setColor(QPalette::Midlight, ui(Ui::hover));
  palette.setColor(QPalette::Shadow, mixed(Qt::black, ui(Ui::border), 0.4));
  const QColor faint = mixed(ui(Ui::muted), ui(Ui::window), 0.6);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, faint);
  palette.setColor(QPalette::Disabled, QPalette::Highlight, ui(Ui::border));
  return palette;
}

void Palette::makeQuiet(QWidget& label) {
  label.setProperty("colour", QStringLiteral("muted"));
}

void Palette::makeLink(QWidget& label) {
  label.setProperty("colour", QStringLiteral("link"));
}

QString Palette::styleSheet() const {
  const auto name = [&](Ui role) { return ui(role).name(); };
  return QStringLiteral(
             "QToolTip { color: %1; background: %2; border: 1px solid %3; padding: 3px; }"
             "QSplitter::handle:vertical { background: %4; height: 7px; }"
             "QSplitter::handle:vertical:hover { background: %3; }"
             "QHeaderView::section { background: %2; color: %5; border: none; border-bottom: 1px solid %3; "
             "padding: 4px 6px; }"
             "QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: border; "
             "subcontrol-position: top center; "
             "position: relative; top: 3px; width: 8px; height: 6px; }"
             "QTableView { border: 1px solid %3; gridline-color: %6; selection-background-color: %7; "
             "selection-color: %1; }"
             "QPushButton { padding: 4px 10px; }"
             "QStatusBar::item { border: none; }"
             "QLabel[colour=\"muted\"] { color: %5; }"
             "QLabel[colour=\"link\"] { color: %9; }"
             "QLabel[colour=\"error\"] { color: %10; }"
             "QTabWidget::pane { border: none; }"
             "QTabBar::tab { padding: 5px 14px; border: none; color: %5; background: transparent; }"
             "QTabBar::tab:selected { color: %1; border-bottom: 2px solid %8; }"
             "QTabBar::tab:hover { color: %1; }")
             .arg(name(Ui::text), name(Ui::raised), name(Ui::border), name(Ui::window), name(Ui::muted),
                  name(Ui::grid), name(Ui::selection), name(Ui::accent), name(Ui::link))
             .arg(name(Ui::error)) +
         scrollBars();
}

/// Fusion's scroll bars can hardly be seen in the dark theme.
QString Palette::scrollBars() const {
  return QStringLiteral(
             "QScrollBar { background: %1; border: none; }"
             "QScrollBar:vertical { width: 12px; } QScrollBar:horizontal { height: 12px; }"
             "QScrollBar::handle { background: %2; border-radius: 4px; margin: 2px; }"
             "QScrollBar::handle:vertical { min-height: 24px; }"
             "QScrollBar::handle:horizontal { min-width: 24px; }"
             "QScrollBar::handle:hover { background: %3; }"
             "QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }"
             "QScrollBar::add-page, QScrollBar::sub-page { background: none; }"
             "QAbstractScrollArea::corner { background: %1; border: none; }")
      .arg(ui(Ui::raised).name(), scrollHandle().name(), ui(Ui::accent).name());
}

QColor Palette::scrollHandle() const {
  return mixed(ui(Ui::muted), ui(Ui::raised), 0.75);
}

Theme themeFromName(const QString& name) {
  if (name == QLatin1String("light")) return Theme::light;
  return name == QLatin1String("dark") ? Theme::dark : Theme::system;
}

QString themeName(Theme theme) {
  switch (theme) {
    case Theme::light:
      return QStringLiteral("light");
    case Theme::dark:
      return QStringLiteral("dark");
    case Theme::system:
      break;
  }
  return QStringLiteral("system");
}

}  // namespace pipescope::shell
