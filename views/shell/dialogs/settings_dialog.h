#pragma once
#include <QDialog>
#include <QStringList>
#include <functional>

namespace pipescope::shell {

class Palette;
class WindowSettings;

/// The settings that users can change. Each change takes effect at once and is saved.
class SettingsDialog : public QDialog {
  Q_OBJECT

 public:
  /// `changed` is called after each change, so that pages can show themselves again.
  SettingsDialog(WindowSettings& settings, Palette& palette, std::function<void()> changed, QWidget* parent);
  /// The names of all settings.
  static QStringList names();
  /// Gives the keyboard to the setting of this name.
  void focusOn(const QString& name);
};

/// Keys of settings that several files use.
namespace setting {
inline const QString kTimeUnit = QStringLiteral("time_unit"), kByteUnits = QStringLiteral("byte_units"),
                     kWheelZooms = QStringLiteral("wheel_zooms"), kFrameTime = QStringLiteral("frame_time"),
                     kSafeColours = QStringLiteral("safe_colours");
}  // namespace setting

/// Makes the formatting of figures follow the settings.
void applyUnits(const WindowSettings& settings);

}  // namespace pipescope::shell
