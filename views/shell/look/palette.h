#pragma once
#include <QColor>
#include <QObject>
#include <QPalette>
#include <array>

#include "profiler/geometry/colour_role.h"

class QWidget;

namespace pipescope::shell {

enum class Theme { system, light, dark };

/// Colours of the window itself, apart from data.
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

/// All colours of the program. Charts, tables and the window take their colours from here and repaint at
/// changed().
class Palette : public QObject {
  Q_OBJECT

 public:
  /// Reads the desktop's colours for Theme::system from the application's palette at this moment.
  explicit Palette(QObject* parent = nullptr);

  Theme theme() const { return theme_; }
  bool isDark() const { return dark_; }
  void setTheme(Theme theme);
  /// Switches to colours and patterns that people with red-green blindness can tell apart.
  bool isSafe() const { return safe_; }
  void setSafe(bool safe);

  QColor colour(geometry::ColourRole role) const { return roles_[static_cast<std::size_t>(role)]; }
  QColor ui(Ui role) const { return ui_[static_cast<std::size_t>(role)]; }
  /// Black or white, whichever is easier to read on the colour.
  static QColor textOn(const QColor& background);
  /// Mixes `part` (0…1) of `colour` with the rest of `below`.
  static QColor mixed(const QColor& colour, const QColor& below, double part);
  /// The ground behind the lines of a hatch.
  QColor hatchGround(geometry::ColourRole role) const { return mixed(colour(role), ui(Ui::surface), 0.16); }

  /// The palette for QApplication; the style Fusion draws all widgets with it.
  QPalette widgets() const;
  /// Style rules that a QPalette cannot express.
  QString styleSheet() const;
  /// The colour of the handle of a scroll bar, on Ui::raised.
  QColor scrollHandle() const;
  /// Gives a label the colour of less important text, or of links, in each theme. Call it before the label is
  /// shown. (A palette of the label's own would be overridden when the style sheet changes.)
  static void makeQuiet(QWidget& label);
  static void makeLink(QWidget& label);

 Q_SIGNALS:
  void changed();

 private:
  QString scrollBars() const;
  void load();
  bool systemIsDark_ = false, dark_ = false, safe_ = false;
  Theme theme_ = Theme::system;
  std::array<QColor, geometry::kColourRoles> roles_;
  std::array<QColor, static_cast<std::size_t>(Ui::count)> ui_;
};

/// Reads "light" or "dark"; anything else means system.
Theme themeFromName(const QString& name);
QString themeName(Theme theme);

}  // namespace pipescope::shell
