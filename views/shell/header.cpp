#include "views/shell/header.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <algorithm>

#include "views/shell/look/elided_label.h"

namespace pipescope::shell {

namespace {
constexpr int kHeight = 44;
}  // namespace

Header::Header(const Palette& palette, ProfileSession& session, QWidget* parent)
    : QWidget(parent),
      palette_(palette),
      session_(session),
      badge_(new QLabel(this)),
      executableLabel_(new QLabel(tr("Executable"), this)),
      title_(new ElidedLabel(palette, Qt::AlignLeft | Qt::AlignVCenter, this)),
      facts_(new ElidedLabel(palette, Qt::AlignRight | Qt::AlignVCenter, this, Ui::muted)),
      executables_(new QComboBox(this)) {
  setFixedHeight(kHeight);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(14, 0, 12, 0);
  layout->setSpacing(10);
  // The file's name is shortened last.
  title_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  badge_->setTextFormat(Qt::PlainText);
  executables_->setFocusPolicy(Qt::TabFocus);
  executables_->setAccessibleName(tr("Executable"));
  executables_->setToolTip(tr("Selects the executable that the pages show"));
  executables_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  executableLabel_->setBuddy(executables_);
  layout->addWidget(title_);
  layout->addWidget(badge_);
  layout->addWidget(facts_, 1);
  layout->addSpacing(10);
  layout->addWidget(executableLabel_);
  layout->addWidget(executables_);
  connect(executables_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
    session_.setExecutable(model::ExecutableId(executables_->itemData(index).toLongLong()));
  });
  for (QLabel* label : {badge_, executableLabel_}) Palette::makeQuiet(*label);
  connect(&palette_, &Palette::changed, this, qOverload<>(&QWidget::update));
}

void Header::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette_.ui(Ui::raised));
  painter.fillRect(0, height() - 1, width(), 1, palette_.ui(Ui::border));
  if (const std::optional<double> done = progress()) {
    constexpr int kThick = 3;
    painter.fillRect(0, height() - kThick, static_cast<int>(width() * *done), kThick,
                     palette_.ui(Ui::accent));
  }
  if (!offering_) return;
  painter.fillRect(rect(), palette_.ui(Ui::selection));
  painter.setPen(palette_.ui(Ui::text));
  painter.drawText(rect(), Qt::AlignCenter,
                   tr("Drop the file here to compare it with %1, or below to open it").arg(session_.title()));
}

void Header::offerComparison(bool offer) {
  if (offer == offering_) return;
  offering_ = offer;
  for (QWidget* child : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (offer && child->isVisible()) child->setProperty("hidden_by_offer", true), child->hide();
    if (!offer && child->property("hidden_by_offer").toBool())
      child->setProperty("hidden_by_offer", false), child->show();
  }
  update();
}

void Header::follow() {
  const analysis::Catalog& catalog = *session_.snapshot()->catalog;
  const QSignalBlocker blocker(executables_);
  executables_->clear();
  for (const model::Executable& row : catalog.executables) {
    executables_->addItem(QString::fromStdString(row.name), QVariant::fromValue<qlonglong>(row.id.value));
    if (row.id == session_.executable()) executables_->setCurrentIndex(executables_->count() - 1);
  }
  executables_->setVisible(executables_->count() > 0);
  executableLabel_->setVisible(executables_->count() > 0);
  title_->setText(session_.title());
  badge_->setText(stateText());
  facts_->setText(executableText());
  update();
}

std::optional<double> Header::progress() const {
  const ProfileSnapshot* snapshot = session_.snapshot();
  if (snapshot == nullptr || snapshot->catalog->state.state != model::ProfileState::running)
    return std::nullopt;
  const std::int64_t planned = snapshot->catalog->plannedCalls(session_.executable());
  if (planned <= 0) return std::nullopt;
  const std::size_t ended = snapshot->catalog->runsOf(session_.executable()).size();
  return std::min(1.0, static_cast<double>(ended) / static_cast<double>(planned));
}

QString Header::stateText() const {
  const analysis::Catalog& catalog = *session_.snapshot()->catalog;
  const QString name = QString::fromStdString(catalog.target.name);
  if (catalog.state.state != model::ProfileState::running) return name;
  const std::size_t calls = catalog.runsOf(session_.executable()).size();
  if (calls == 0) return tr("%1 · running, no call has ended").arg(name);
  const std::int64_t planned = catalog.plannedCalls(session_.executable());
  if (planned < static_cast<std::int64_t>(calls))
    return tr("%1 · running, call %2 has ended").arg(name).arg(calls);
  return tr("%1 · running, call %L2 of %L3 has ended").arg(name).arg(calls).arg(planned);
}

/// Returns a text such as "pipelined · popart · 4 stages · 10 micro-batches of 40".
QString Header::executableText() const {
  const model::Executable* row = session_.snapshot()->catalog->executable(session_.executable());
  if (row == nullptr) return {};
  QStringList parts;
  for (const std::string& word : {row->strategy, row->schedule}) {
    const QString text = QString::fromStdString(word);
    if (!text.isEmpty() && !parts.contains(text)) parts << text;
  }
  if (row->stages > 0) parts << (row->stages == 1 ? tr("1 stage") : tr("%1 stages").arg(row->stages));
  if (const std::string division = session_.snapshot()->catalog->divisionOf(row->id); !division.empty())
    parts << QString::fromStdString(division);
  else if (row->replicas > 1)
    parts << tr("%1 replicas").arg(row->replicas);
  // Micro-batches have no samples if the configuration states the costs.
  const bool samples = session_.snapshot()->catalog->target.tickMeaning != model::TickMeaning::cost;
  if (row->microBatches > 0 && !samples)
    parts << (row->microBatches == 1 ? tr("1 micro-batch") : tr("%1 micro-batches").arg(row->microBatches));
  if (row->microBatches > 0 && row->microBatchSize > 0 && samples) {
    parts << (row->microBatches == 1
                  ? tr("1 micro-batch of %1").arg(row->microBatchSize)
                  : tr("%1 micro-batches of %2").arg(row->microBatches).arg(row->microBatchSize));
  }
  return parts.join(QStringLiteral(" · "));
}

}  // namespace pipescope::shell
