#include "views/pages/parts/layout/run_toolbar.h"

#include <QRegularExpression>

namespace pipescope::pages {

namespace {
constexpr double kZoom = 1.6;
}  // namespace

QString stepOf(int step, int last) {
  return last <= 0 ? QObject::tr("Iteration %1").arg(step)
                   : QObject::tr("Iteration %1 of 0–%2").arg(step).arg(last);
}

QComboBox* RunToolbar::choice(const QStringList& items, const QString& name, const QString& tip,
                              const QString& setting) {
  QComboBox* box = combo(items, name, tip);
  box->setCurrentIndex(qBound(0, context_.settings.value(setting, 0).toInt(), box->count() - 1));
  connect(box, QOverload<int>::of(&QComboBox::activated), this, [this, setting](int index) {
    context_.settings.setValue(setting, index);
    Q_EMIT optionsChanged();
  });
  return box;
}

void RunToolbar::turn(QComboBox* box, const QString& setting) {
  box->setCurrentIndex((box->currentIndex() + 1) % box->count());
  context_.settings.setValue(setting, box->currentIndex());
  Q_EMIT optionsChanged();
}

void RunToolbar::addCalls() {
  calls_ = combo({}, tr("Call"), tr("The call from the host that is shown"));
  connect(calls_, QOverload<int>::of(&QComboBox::activated), this,
          [this] { Q_EMIT callChosen(calls_->currentData().toLongLong()); });
}

void RunToolbar::addSteps(const QString& group, const QString& nextCommand, const QString& previousCommand) {
  previous_ =
      button(QStringLiteral("previous"), tr("Previous iteration ([)"), [this] { Q_EMIT stepWanted(-1); });
  step_ = new QLabel(this);
  step_->setAlignment(Qt::AlignCenter);
  add(step_);
  next_ = button(QStringLiteral("next"), tr("Next iteration (])"), [this] { Q_EMIT stepWanted(1); });
  const auto command = [&](const QString& what, const char* key, const char* arrow, int direction) {
    QAction* action = context_.actions.add(
        group, what, {QKeySequence(QLatin1String(key)), QKeySequence(QLatin1String(arrow))},
        [this, direction] { Q_EMIT stepWanted(direction); });
    owner_.own(action);
    return action;
  };
  nextCommand_ = command(nextCommand, "]", "Ctrl+Right", 1);
  previousCommand_ = command(previousCommand, "[", "Ctrl+Left", -1);
}

void RunToolbar::addZoom() {
  button(QStringLiteral("zoom_out"), tr("Zoom out (S)"), [this] { Q_EMIT zoomWanted(1 / kZoom); });
  button(QStringLiteral("zoom_in"), tr("Zoom in (W)"), [this] { Q_EMIT zoomWanted(kZoom); });
}

void RunToolbar::addPicture() {
  pictureButton();
}

void RunToolbar::setCalls(const std::vector<const model::Run*>& runs, qlonglong chosen, bool withAll) {
  const QSignalBlocker blocker(calls_);
  calls_->clear();
  qlonglong number = 0;  // counts from 1, as on the command line
  for (const model::Run* run : runs) {
    const bool last = runs.size() > 1 && run == runs.back();
    calls_->addItem((last ? tr("Call %1 (last)") : tr("Call %1")).arg(++number),
                    QVariant::fromValue<qlonglong>(run->id.value));
  }
  if (withAll && runs.size() > 1)
    calls_->addItem(tr("All %1 calls").arg(runs.size()), QVariant::fromValue<qlonglong>(kAllCalls));
  calls_->setCurrentIndex(calls_->findData(QVariant::fromValue<qlonglong>(chosen)));
  calls_->setVisible(!runs.empty());
}

void RunToolbar::setStep(const QString& step, bool hasPrevious, bool hasNext) {
  step_->setText(step);
  // The label is as wide as with other digits, so that the button behind it keeps its place from iteration to
  // iteration.
  static const QRegularExpression digit(QStringLiteral("\\d"));
  constexpr int kSpace = 4;
  const QString widest = QString(step).replace(digit, QStringLiteral("8"));
  step_->setMinimumWidth(QFontMetrics(font()).horizontalAdvance(widest) + kSpace);
  previous_->setEnabled(hasPrevious);
  next_->setEnabled(hasNext);
  owner_.setPossible(previousCommand_, hasPrevious);
  owner_.setPossible(nextCommand_, hasNext);
}

}  // namespace pipescope::pages
