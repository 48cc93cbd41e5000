#include "views/pages/parts/trace/pipeline_toolbar.h"

namespace pipescope::pages {

namespace {
const auto kGridKey = QStringLiteral("pipeline/as_grid"),
           kPassColoursKey = QStringLiteral("pipeline/colours"),
           kCriticalKey = QStringLiteral("pipeline/critical");
}  // namespace

PipelineToolbar::PipelineToolbar(shell::PageContext& context, shell::Page& owner)
    : RunToolbar(context, owner) {
  mode_ = choice({tr("By time"), tr("Schedule")}, tr("View"),
                 tr("Shows passes over time, or a table with cells of equal width (G)"), kGridKey);
  colours_ = choice({tr("By micro-batch"), tr("By pass")}, tr("Colours"),
                    tr("Colours passes by micro-batch (light: forward, dark: backward) or by kind (M)"),
                    kPassColoursKey);
  space();
  addCalls();
  addSteps(tr("Pipeline"), tr("Next iteration of the pipeline"), tr("Previous iteration of the pipeline"));
  addPath();
  stretch();
  addZoom();
  button(QStringLiteral("fit"), tr("Show everything (0)"), [this] { Q_EMIT allWanted(); });
  addPicture();
  const auto key = [&](const QString& what, const QList<QKeySequence>& keys, std::function<void()> run) {
    QAction* action = context.actions.add(tr("Pipeline"), what, keys, std::move(run));
    owner_.own(action);
  };
  key(tr("By time or as a schedule grid"), {QKeySequence(QStringLiteral("G"))},
      [this] { turn(mode_, kGridKey); });
  key(tr("Colour by micro-batch or pass"), {QKeySequence(QStringLiteral("M"))},
      [this] { turn(colours_, kPassColoursKey); });
}

void PipelineToolbar::addPath() {
  path_ = new QSpinBox(this);
  path_->setFocusPolicy(Qt::StrongFocus);  // the wheel changes it without taking the keyboard
  path_->setRange(-1, -1);
  path_->setPrefix(tr("micro-batch "));
  path_->setSpecialValueText(tr("no micro-batch"));
  path_->setAccessibleName(tr("Highlighted micro-batch"));
  path_->setToolTip(
      tr("Highlights one micro-batch: forward passes green, backward passes red. A click on a pass does so "
         "too."));
  add(path_);
  critical_ = new QCheckBox(tr("Critical path"), this);
  critical_->setChecked(context_.settings.value(kCriticalKey, false).toBool());
  critical_->setToolTip(tr("Outlines the passes whose lengths and waits add up to the call"));
  add(critical_);
  connect(path_, QOverload<int>::of(&QSpinBox::valueChanged), this, &PipelineToolbar::optionsChanged);
  connect(critical_, &QCheckBox::toggled, this, [this](bool on) {
    context_.settings.setValue(kCriticalKey, on);
    Q_EMIT optionsChanged();
  });
}

geometry::PipelineOptions PipelineToolbar::options() const {
  geometry::PipelineOptions options;
  options.grid = mode_->currentIndex() == 1;
  options.byMicroBatch = colours_->currentIndex() == 0;
  options.critical = critical_->isChecked() && critical_->isEnabled();
  options.path = path_->value();
  return options;
}

void PipelineToolbar::setMicroBatches(int count) {
  // More colours are hard to tell apart. Who has chosen the colours keeps them.
  constexpr int kMostToldApart = 12;
  if (!context_.settings.value(kPassColoursKey).isValid()) colours_->setCurrentIndex(count > kMostToldApart);
  const QSignalBlocker blocker(path_);
  path_->setRange(-1, count - 1);
}

}  // namespace pipescope::pages
