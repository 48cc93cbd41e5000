#include "views/workbench/key_field.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/shell/look/palette.h"
#include "views/workbench/key_value.h"

namespace pipescope::workbench {

QString keyTip(const KeyRow& key) {
  return QStringLiteral("<qt><b>%1</b><br>%2<br><br>%3</qt>")
      .arg(key.path.toHtmlEscaped(), key.facts.toHtmlEscaped(), key.help.toHtmlEscaped());
}

KeyField::KeyField(const KeyRow& key, const QString& path, const QString& toml, QWidget* parent)
    : QWidget(parent), key_(key), path_(path) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  editor_ = makeEditor(toml);
  editor_->setAccessibleName(path);
  editor_->setAccessibleDescription(key.help);
  editor_->setToolTip(keyTip(key));
  editor_->installEventFilter(this);
  column->addWidget(editor_);
  problem_ = new QLabel(this);
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->setProperty("colour", QStringLiteral("error"));
  problem_->hide();
  column->addWidget(problem_);
  setFocusProxy(editor_);
}

QWidget* KeyField::makeEditor(const QString& toml) {
  const auto tell = [this](const QString& typed) { Q_EMIT edited(path_, tomlOf(key_, typed)); };
  if (key_.type == ValueType::boolean) {
    auto* box = new QCheckBox(this);
    box->setChecked(toml == QLatin1String("true"));
    connect(box, &QCheckBox::toggled, this,
            [tell](bool on) { tell(on ? QStringLiteral("true") : QStringLiteral("false")); });
    return box;
  }
  if (key_.type == ValueType::text && !key_.choices.isEmpty()) {
    auto* box = new QComboBox(this);
    box->addItems(key_.choices);
    const QString now = typedText(key_, toml);
    if (!key_.choices.contains(now)) box->insertItem(0, now);  // a wrong or missing choice stays visible
    box->setCurrentText(now);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(8);
    box->setFocusPolicy(Qt::StrongFocus);
    connect(box, QOverload<const QString&>::of(&QComboBox::currentTextChanged), this, tell);
    return box;
  }
  auto* line = new QLineEdit(typedText(key_, toml), this);
  line->setCursorPosition(0);
  line->setPlaceholderText(key_.unit);
  if (!key_.choices.isEmpty()) line->setCompleter(new QCompleter(key_.choices, line));
  connect(line, &QLineEdit::textEdited, this, tell);
  return line;
}

void KeyField::setValue(const QString& toml) {
  const QSignalBlocker quiet(editor_);
  const QString typed = typedText(key_, toml);
  if (auto* check = qobject_cast<QCheckBox*>(editor_)) {
    check->setChecked(toml == QLatin1String("true"));
  } else if (auto* box = qobject_cast<QComboBox*>(editor_)) {
    if (box->findText(typed) < 0) box->insertItem(0, typed);
    box->setCurrentText(typed);
  } else if (auto* line = qobject_cast<QLineEdit*>(editor_); line != nullptr && line->text() != typed) {
    line->setText(typed);
    line->setCursorPosition(0);
  }
  setProblem({});
}

/// The wheel scrolls the form. It changes a choice only if the user has given it the keyboard.
bool KeyField::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Wheel || editor_->hasFocus()) return QWidget::eventFilter(watched, event);
  event->ignore();
  return true;
}

void KeyField::setProblem(const QString& sentence) {
  problem_->setText(sentence);
  problem_->setVisible(!sentence.isEmpty());
}

QString KeyField::problem() const {
  return problem_->text();
}

}  // namespace pipescope::workbench
