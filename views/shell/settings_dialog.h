#pragma once
#include <QDialog>
#include <functional>

namespace pipescope::shell {

class Palette;
class Settings;

/// What a user can choose. Every change holds at once and is remembered.
class SettingsDialog : public QDialog {
  Q_OBJECT

 public:
  /// `changed` is called after each change: pages show themselves anew.
  SettingsDialog(Settings& settings, Palette& palette, std::function<void()> changed, QWidget* parent);
};

/// Keys of the settings that more than one file knows.
namespace setting {
inline const QString kTimeUnit = QStringLiteral("time_unit"), kByteUnits = QStringLiteral("byte_units"),
                     kWheelZooms = QStringLiteral("wheel_zooms"), kFrameTime = QStringLiteral("frame_time"),
                     kSafeColours = QStringLiteral("safe_colours");
}  // namespace setting

/// Tells the formatting of figures what the settings say.
void applyByteUnits(const Settings& settings);

}  // namespace pipescope::shell
