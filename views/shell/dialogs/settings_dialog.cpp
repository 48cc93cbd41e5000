#include "views/shell/dialogs/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "profiler/sections/frame/section.h"
#include "views/shell/look/palette.h"
#include "views/shell/window_settings.h"

namespace pipescope::shell {
namespace {

constexpr double kSmallNote = 0.9;

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
  QString key, label, note;
  std::vector<std::pair<QString, QString>> values;  ///< value, text; the first one is the default
};
struct SettingSwitch {
  QString key, text, note;
};

std::vector<SettingChoice> settingChoices() {
  const auto tr = [](const char* text) { return SettingsDialog::tr(text); };
  return {{QStringLiteral("theme"),
           tr("Colours"),
           tr("Ctrl+Shift+L switches between light and dark."),
           {{QStringLiteral("system"), tr("As the desktop")},
            {QStringLiteral("light"), tr("Light")},
            {QStringLiteral("dark"), tr("Dark")}}},
          {setting::kTimeUnit,
           tr("Time"),
           tr("The unit on all pages. Ctrl+Shift+U switches it; cards show both."),
           {{QStringLiteral("cycles"), tr("Cycles")}, {QStringLiteral("time"), tr("Seconds")}}},
          {setting::kByteUnits,
           tr("Memory"),
           tr("The unit of amounts of memory in tables, charts and sentences."),
           {{QStringLiteral("binary"), tr("Binary: 1.0 KiB = 1,024 B")},
            {QStringLiteral("decimal"), tr("Decimal: 1.0 kB = 1,000 B")},
            {QStringLiteral("bytes"), tr("Bytes: 1,024 B")}}},
          {setting::kWheelZooms,
           tr("Wheel on timelines"),
           tr("What a turn of the wheel does on the trace and the pipeline."),
           {{QStringLiteral("false"), tr("Scrolls rows; with Ctrl it zooms")},
            {QStringLiteral("true"), tr("Zooms, as in PopVision; with Ctrl it scrolls")}}}};
}

std::vector<SettingSwitch> settingSwitches() {
  return {{setting::kSafeColours, SettingsDialog::tr("Colours and patterns for colour-blind eyes"),
           SettingsDialog::tr("Colours that differ in brightness, and lines besides.")},
          {setting::kFrameTime, SettingsDialog::tr("Show how long drawing a timeline takes"),
           SettingsDialog::tr("In the corner of the trace, for reports about slow drawing.")}};
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

/// A quiet line below a control, which says what it is for.
QWidget* withNote(QWidget* control, const QString& note) {
  auto* both = new QWidget(control->parentWidget());
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(control);
  auto* words = new QLabel(note, both);
  QFont small = words->font();
  small.setPointSizeF(small.pointSizeF() * kSmallNote);
  words->setFont(small);
  Palette::makeQuiet(*words);
  column->addWidget(words);
  return both;
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
    form->addRow(choice.label, withNote(box, choice.note));
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
    form->addRow(QString(), withNote(box, one.note));
    connect(box, &QCheckBox::toggled, this, [&settings, &palette, key = one.key, changed](bool on) {
      settings.setValue(key, on);
      if (key == setting::kSafeColours) palette.setSafe(on);
      changed();
    });
  }
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close | QDialogButtonBox::RestoreDefaults, this);
  buttons->button(QDialogButtonBox::RestoreDefaults)->setText(tr("Restore defaults"));
  connect(buttons->button(QDialogButtonBox::RestoreDefaults), &QPushButton::clicked, this, [this] {
    for (QComboBox* box : findChildren<QComboBox*>()) {
      box->setCurrentIndex(0);
      Q_EMIT box->activated(0);
    }
    for (QCheckBox* box : findChildren<QCheckBox*>()) box->setChecked(false);
  });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  constexpr int kAboveButtons = 12;
  layout->addSpacing(kAboveButtons);
  layout->addWidget(buttons);
}

}  // namespace pipescope::shell
