#include "views/shell/help/tour.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace pipescope::shell {
namespace {

const auto kSeen = QStringLiteral("tour/seen");

struct Step {
  QString title, text;
  Place place;
};

/// The steps for the demo: the network of the pipelining tutorial on four devices.
const std::vector<Step>& steps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> made(5);
    made[0] = {
        QObject::tr("Which stage is slow?"),
        QObject::tr(
            "A bar shows one iteration on the device of each stage. The stage with the longest passes holds "
            "the others up; the imbalance says how much longer it takes than the mean."),
        {QStringLiteral("stages")}};
    made[1] = {
        QObject::tr("Why do the others wait?"),
        QObject::tr(
            "Each gap has a cause. A row is a device that waits, a column the one that it waits for. Click a "
            "cell to list its gaps, and a gap to see it on the trace."),
        {QStringLiteral("waits")}};
    made[2] = {
        QObject::tr("What would help?"),
        QObject::tr(
            "The recorded call is replayed with another schedule and more micro-batches, without the model. "
            "Add or remove changes above and see what the step would take."),
        {QStringLiteral("what-if")}};
    made[2].place.changes << QStringLiteral("execution.schedule=1f1b")
                          << QStringLiteral("training.gradient_accumulation=20");
    made[3] = {
        QObject::tr("What changed?"),
        QObject::tr(
            "The replayed call is compared with the recorded one. The page adds up what changed; other pages "
            "show both side by side."),
        {QStringLiteral("what-if")}};
    made[3].place.changes = made[2].place.changes;
    made[3].place.compare = true;
    made[4] = {QObject::tr("Share it"),
               QObject::tr("Save report writes one web page with the pipeline, the stages and the advice, "
                           "for people without "
                           "Pipescope. Pictures of single charts are in the menu File, too."),
               {QStringLiteral("summary")}};
    return made;
  }();
  return all;
}

}  // namespace

Tour::Tour(Palette& palette, WindowSettings& settings, QWidget* parent)
    : QFrame(parent),
      palette_(palette),
      settings_(settings),
      title_(new QLabel(this)),
      text_(new QLabel(this)),
      back_(new QPushButton(tr("Back"), this)),
      next_(new QPushButton(this)),
      leave_(new QPushButton(tr("Leave the tour"), this)) {
  setAccessibleName(tr("Tour"));
  setAutoFillBackground(true);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16, 8, 16, 8);
  auto* texts = new QVBoxLayout;
  texts->setSpacing(1);
  texts->addWidget(title_);
  texts->addWidget(text_);
  text_->setWordWrap(true);
  row->addLayout(texts, 1);
  for (QPushButton* button : {back_, next_, leave_}) row->addWidget(button);
  connect(back_, &QPushButton::clicked, this, [this] { show(step_ - 1); });
  connect(next_, &QPushButton::clicked, this, [this] {
    if (step_ + 1 < static_cast<int>(steps().size())) return show(step_ + 1);
    end();
    Q_EMIT reportWanted();
  });
  connect(leave_, &QPushButton::clicked, this, &Tour::end);
  connect(&palette_, &Palette::changed, this, &Tour::follow);
  follow();
  hide();
}

void Tour::begin() {
  settings_.setValue(kSeen, true);
  show(0);
}

void Tour::beginOnce() {
  if (!settings_.value(kSeen, false).toBool()) begin();
}

void Tour::show(int step) {
  step_ = step;
  const auto count = static_cast<int>(steps().size());
  const Step& shown = steps()[static_cast<std::size_t>(step)];
  title_->setText(tr("%1 of %2 · %3").arg(step + 1).arg(count).arg(shown.title));
  text_->setText(shown.text);
  back_->setEnabled(step > 0);
  next_->setText(step + 1 < count ? tr("Next") : tr("Save report…"));
  setVisible(true);
  Q_EMIT placeWanted(shown.place);
}

void Tour::end() {
  step_ = -1;
  hide();
}

void Tour::follow() {
  QPalette colours = palette_.widgets();
  colours.setColor(QPalette::Window, palette_.ui(Ui::raised));
  setPalette(colours);
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
}

}  // namespace pipescope::shell
