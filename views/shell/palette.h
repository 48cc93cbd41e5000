#pragma once
#include <QColor>
#include <QObject>
#include <QPalette>
#include <array>

#include "profiler/geometry/colour_role.h"

class QWidget;

namespace pipescope::shell {

enum class Theme { system, light, dark };

/// Colours of the window itself.
enum class Ui {
  window,
  surface,
  raised,
  sidebar,
  border,
  grid,
  text,
  muted,
  accent,
  accentText,
  selection,
  hover,
  link,
  good,
  warning,
  error,
  count
};

/// All colours there are: charts, tables and the window take theirs from here, and follow changed().
class Palette : public QObject {
  Q_OBJECT

 public:
  /// Takes what the desktop uses for Theme::system from the application's palette at this moment.
  explicit Palette(QObject* parent = nullptr);

  Theme theme() const { return theme_; }
  bool isDark() const { return dark_; }
  void setTheme(Theme theme);
  /// Colours and patterns that eyes which mix up red and green can tell apart.
  bool isSafe() const { return safe_; }
  void setSafe(bool safe);

  QColor colour(geometry::ColourRole role) const { return roles_[static_cast<std::size_t>(role)]; }
  QColor ui(Ui role) const { return ui_[static_cast<std::size_t>(role)]; }
  /// Dark or light, whichever reads better on the colour.
  static QColor textOn(const QColor& background);
  /// `part` (0…1) of `colour` over `below`.
  static QColor mixed(const QColor& colour, const QColor& below, double part);
  /// Behind the lines of a hatch.
  QColor hatchGround(geometry::ColourRole role) const { return mixed(colour(role), ui(Ui::surface), 0.16); }

  /// For QApplication: Fusion draws everything with it.
  QPalette widgets() const;
  /// The few rules that a QPalette cannot say.
  QString styleSheet() const;
  /// A label in the colour of what is less important, or of links, in each theme: set before it is shown. (A
  /// palette of its own would be overridden when the style sheet changes.)
  static void makeQuiet(QWidget& label);
  static void makeLink(QWidget& label);

 Q_SIGNALS:
  void changed();

 private:
  void load();
  bool systemIsDark_ = false, dark_ = false, safe_ = false;
  Theme theme_ = Theme::system;
  std::array<QColor, geometry::kColourRoles> roles_;
  std::array<QColor, static_cast<std::size_t>(Ui::count)> ui_;
};

/// "light", "dark" or "system"; anything else is system.
Theme themeFromName(const QString& name);
QString themeName(Theme theme);

}  // namespace pipescope::shell
