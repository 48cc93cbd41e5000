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
  struct Choice {
    QString key, label;
    std::vector<std::pair<QString, QString>> values;  // value, text
  };
  const std::vector<Choice> choices = {
      {QStringLiteral("theme"),
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
  for (const Choice& choice : choices) {
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
  const auto check = [&](const QString& key, const QString& text, const std::function<void(bool)>& apply) {
    auto* box = new QCheckBox(text, this);
    box->setChecked(settings.value(key, false).toBool());
    form->addRow(QString(), box);
    connect(box, &QCheckBox::toggled, this, [&settings, key, apply, changed](bool on) {
      settings.setValue(key, on);
      apply(on);
      changed();
    });
  };
  check(setting::kSafeColours, tr("Colours and patterns for colour-blind eyes"),
        [&palette](bool on) { palette.setSafe(on); });
  check(setting::kFrameTime, tr("Show how long drawing a timeline takes"), [](bool) {});
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout->addWidget(buttons);
}

}  // namespace pipescope::shell
