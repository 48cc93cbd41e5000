#include "views/shell/dialogs/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QVBoxLayout>

#include "profiler/sections/frame/section.h"
#include "views/shell/look/palette.h"
#include "views/shell/window_settings.h"

namespace pipescope::shell {
namespace {

sections::ByteUnits byteUnits(const QString& name) {
  if (name == QLatin1String("decimal")) return sections::ByteUnits::decimal;
  return name == QLatin1String("bytes") ? sections::ByteUnits::bytes : sections::ByteUnits::binary;
}

}  // namespace

void applyUnits(const WindowSettings& settings) {
  const bool seconds = settings.value(setting::kTimeUnit).toString() == QLatin1String("time");
  figures::useMinusSign(true);
  figures::setCycleUnits(seconds ? figures::CycleUnits::seconds : figures::CycleUnits::cycles);
  sections::setByteUnits(byteUnits(settings.value(setting::kByteUnits).toString()));
}

namespace {

struct SettingChoice {
  QString key, label;
  std::vector<std::pair<QString, QString>> values;  ///< value, text
};
struct SettingSwitch {
  QString key, text;
};

std::vector<SettingChoice> settingChoices() {
  const auto tr = [](const char* text) { return SettingsDialog::tr(text); };
  return {{QStringLiteral("theme"),
           tr("Colours"),
           {{QStringLiteral("system"), tr("As the desktop")},
            {QStringLiteral("light"), tr("Light")},
            {QStringLiteral("dark"), tr("Dark")}}},
          {setting::kTimeUnit,
           tr("Time"),
           {{QStringLiteral("cycles"), tr("Cycles")}, {QStringLiteral("time"), tr("Seconds")}}},
          {setting::kByteUnits,
           tr("Memory"),
           {{QStringLiteral("binary"), tr("Binary: 1.0 KiB = 1,024 B")},
            {QStringLiteral("decimal"), tr("Decimal: 1.0 kB = 1,000 B")},
            {QStringLiteral("bytes"), tr("Bytes: 1,024 B")}}},
          {setting::kWheelZooms,
           tr("Wheel on timelines"),
           {{QStringLiteral("false"), tr("Scrolls rows; with Ctrl it zooms")},
            {QStringLiteral("true"), tr("Zooms, as in PopVision; with Ctrl it scrolls")}}}};
}

std::vector<SettingSwitch> settingSwitches() {
  return {{setting::kSafeColours, SettingsDialog::tr("Colours and patterns for colour-blind eyes")},
          {setting::kFrameTime, SettingsDialog::tr("Show how long drawing a timeline takes")}};
}

}  // namespace

QStringList SettingsDialog::names() {
  QStringList names;
  for (const SettingChoice& choice : settingChoices()) names << choice.label;
  for (const SettingSwitch& one : settingSwitches()) names << one.text;
  return names;
}

void SettingsDialog::focusOn(const QString& name) {
  for (QComboBox* box : findChildren<QComboBox*>())
    if (box->accessibleName() == name) box->setFocus();
  for (QCheckBox* box : findChildren<QCheckBox*>())
    if (box->text() == name) box->setFocus();
}

SettingsDialog::SettingsDialog(WindowSettings& settings, Palette& palette, std::function<void()> changed,
                               QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(tr("Settings"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(20, 18, 20, 14);
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(18);
  form->setVerticalSpacing(10);
  layout->addLayout(form);
  for (const SettingChoice& choice : settingChoices()) {
    auto* box = new QComboBox(this);
    box->setAccessibleName(choice.label);
    for (const auto& [value, text] : choice.values) box->addItem(text, value);
    box->setCurrentIndex(std::max(0, box->findData(settings.value(choice.key).toString())));
    form->addRow(choice.label, box);
    connect(box, QOverload<int>::of(&QComboBox::activated), this,
            [&settings, &palette, box, key = choice.key, changed] {
              settings.setValue(key, box->currentData());
              if (key == QLatin1String("theme")) palette.setTheme(settings.theme());
              applyUnits(settings);
              changed();
            });
  }
  for (const SettingSwitch& one : settingSwitches()) {
    auto* box = new QCheckBox(one.text, this);
    box->setChecked(settings.value(one.key, false).toBool());
    form->addRow(QString(), box);
    connect(box, &QCheckBox::toggled, this, [&settings, &palette, key = one.key, changed](bool on) {
      settings.setValue(key, on);
      if (key == setting::kSafeColours) palette.setSafe(on);
      changed();
    });
  }
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout->addWidget(buttons);
}

}  // namespace pipescope::shell
