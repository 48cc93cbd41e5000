#include "views/pages/parts/layout/insight_card.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/replay/change.h"
#include "profiler/sections/frame/insight_words.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/text.h"
#include "views/shell/look/icons.h"

namespace pipescope::pages {
namespace {

using sections::Cell;
using sections::Format;
using shell::Ui;

constexpr int kInsightIcon = 20, kGainWidth = 250, kMostGain = 480, kSentencesShare = 3;
constexpr double kGainSize = 1.8, kUnknownGainSize = 1.2;  ///< times the usual size of texts
constexpr int kWidestSentences =
    1'000;  ///< a gain that is farther away is not read together with its finding

/// The section "execution" has no page of its own: the trace shows what it reports.
QString pageOf(const QString& section) {
  if (section == QLatin1String("kernels") || section == QLatin1String("collectives"))
    return QStringLiteral("recorded");
  return section == QLatin1String("execution") ? QStringLiteral("trace") : section;
}

QLabel* wrappedLabel(const QString& words, QWidget* parent) {
  auto* label = new QLabel(words, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

class InsightReader {
 public:
  InsightReader(const sections::SectionTable& table, const analysis::Catalog& catalog)
      : table_(table), catalog_(catalog) {}

  ShownInsight read(std::size_t row) const {
    const auto& cells = table_.rows[row];
    const auto cell = [&](const char* key) -> const Cell& { return cells[columnNamed(table_, key)]; };
    ShownInsight shown;
    shown.rank = static_cast<int>(row) + 1;
    shown.rule = wordsIn(cell("rule"));
    shown.what = sentenceIn(cell("what"));
    shown.advice = sentenceIn(cell("advice"));
    shown.changes = wordsIn(cell("changes"));
    readTrials(shown);
    shown.gainReason = sentenceIn(cell("gain_reason"));
    shown.severe = numberIn(cell("severe")) != 0 || cell("severe") == Cell(true);
    const auto [figure, threshold] = toldApart(numberIn(cell("figure")), numberIn(cell("threshold")));
    shown.figure = tr("%1: %2; the threshold is %3").arg(wordsIn(cell("figure_meaning")), figure, threshold);
    shown.share = numberIn(cell("step_share"));
    readGain(cell("gain_fraction"), shown);
    if (const Cell& bound = cell("gain_bound_fraction"); !std::holds_alternative<std::monostate>(bound))
      shown.bound = tr("up to +%1").arg(text(formatCell(bound, Format::fraction)));
    readPlace(cell("page"), cell("stage"), cell("device"), cell("from_cycles"), shown);
    return shown;
  }

 private:
  QString sentenceIn(const Cell& cell) const { return withSettingsInWords(wordsIn(cell), catalog_); }

  /// True if a replay knows the keys of all changes.
  static bool canReplay(const QString& changes) {
    const QStringList all = changes.split(QLatin1Char(' '));
    return std::all_of(all.begin(), all.end(), [](const QString& change) {
      const std::string key = change.left(change.indexOf(QLatin1Char('='))).toStdString();
      return std::ranges::find(replay::changeKinds(), key, &replay::ChangeKind::key) !=
             replay::changeKinds().end();
    });
  }
  void readTrials(ShownInsight& shown) const {
    if (shown.changes.isEmpty()) {
      shown.whyNoReplay = shown.whyNoRun = tr("This finding names no setting to change.");
      return;
    }
    if (!canReplay(shown.changes))
      shown.whyNoReplay = tr("A replay of the recorded call cannot change this: run with it instead.");
    if (catalog_.measured()) {
      shown.whyNoRun = tr("The run was imported: it has no configuration that Pipescope could run.");
    } else if (catalog_.configuration.empty()) {
      shown.whyNoRun = tr("The profile holds no configuration that could run again.");
    }
  }

  static void readGain(const Cell& gain, ShownInsight& shown) {
    constexpr double kWorthwhile = 0.01;  // analysis::kWorthwhileGain
    if (std::holds_alternative<std::monostate>(gain)) return;
    const double value = numberIn(gain);
    shown.gain = (value > 0 ? QStringLiteral("+") : QString()) + text(formatCell(gain, Format::fraction));
    shown.verdict = value >= kWorthwhile ? 1 : -1;
  }

  void readPlace(const Cell& page, const Cell& stage, const Cell& device, const Cell& from,
                 ShownInsight& shown) const {
    shown.place.page = pageOf(wordsIn(page));
    QStringList parts = {shown.place.page.left(1).toUpper() + shown.place.page.mid(1)};
    if (const auto* index = std::get_if<std::int64_t>(&stage)) {
      shown.place.stage = static_cast<std::int32_t>(*index);
      parts << tr("stage %1").arg(*index);
    }
    if (const auto* index = std::get_if<std::int64_t>(&device)) {
      shown.place.device = model::DeviceId(*index);
      const model::Device* known = catalog_.device(shown.place.device);
      if (known != nullptr) parts << (shown.place.lane = text(known->name));
    }
    if (const auto* ticks = std::get_if<std::int64_t>(&from);
        ticks != nullptr && shown.place.page == QLatin1String("trace"))
      shown.place.time = base::Ticks(*ticks);
    shown.seenIn = parts.join(QStringLiteral(", "));
  }

  const sections::SectionTable& table_;
  const analysis::Catalog& catalog_;
};

}  // namespace

std::pair<QString, QString> toldApart(double figure, double threshold) {
  constexpr int kUsualDigits = 3, kMostDigits = 6;
  for (int digits = kUsualDigits;; ++digits) {
    const QString one = QString::number(figure, 'g', digits), other = QString::number(threshold, 'g', digits);
    if (one != other || figure == threshold || digits == kMostDigits) return {one, other};
  }
}

InsightSign ShownInsight::sign() const {
  constexpr double kLargeShare = 0.1;
  if (severe) return InsightSign::error;
  return verdict > 0 || (verdict == 0 && share >= kLargeShare) ? InsightSign::warning : InsightSign::info;
}

std::vector<ShownInsight> insightsOf(const sections::Section& section, const analysis::Catalog& catalog) {
  const sections::SectionTable& table = *tableNamed(section, "insights");
  std::vector<ShownInsight> all;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    all.push_back(InsightReader(table, catalog).read(row));
  return all;
}

QString largestGainInWords(const Cell& gain, const QString& changes) {
  if (std::holds_alternative<std::monostate>(gain)) return {};
  if (numberIn(gain) <= 0) return InsightCard::tr("No change whose gain is known makes the run faster.");
  return InsightCard::tr("Of the gains that are known, the largest is %1, with %2.")
      .arg(text(formatCell(gain, Format::fraction)), QStringLiteral("“%1”").arg(changesInWords(changes)));
}

int InsightCard::gainWidthOf(const std::vector<ShownInsight>& insights, const QFontMetrics& metrics) {
  constexpr int kMostGainWidth = 380, kGainMargin = 6;
  int widest = kGainWidth;
  for (const ShownInsight& insight : insights) {
    for (const QString& words : {changesInWords(insight.changes), insight.gainReason}) {
      for (const QString& word : words.split(QLatin1Char(' ')))
        widest = std::max(widest, metrics.horizontalAdvance(word) + kGainMargin);
    }
  }
  return std::min(widest, kMostGainWidth);
}

InsightCard::InsightCard(const shell::Palette& palette, const ShownInsight& insight, int gainWidth,
                         QWidget* parent)
    : Panel(palette, {}, parent), insight_(insight), usualSize_(font().pointSizeF()), gainWidth_(gainWidth) {
  setAccessibleName(insight_.what);
  auto* row = new QHBoxLayout;
  row->setSpacing(14);
  auto* icon = new QLabel(this);
  const auto follow = [&palette, icon, sign = insight_.sign()] {
    const auto [name, colour] = sign == InsightSign::error     ? std::pair("error", Ui::error)
                                : sign == InsightSign::warning ? std::pair("warning", Ui::warning)
                                                               : std::pair("info", Ui::accent);
    icon->setPixmap(
        shell::iconPixmap(QLatin1String(name), palette.ui(colour), kInsightIcon, icon->devicePixelRatioF()));
  };
  follow();
  connect(&palette, &shell::Palette::changed, icon, follow);
  row->addWidget(icon, 0, Qt::AlignTop);
  sentences_ = makeSentences(palette);
  gainBox_ = makeGain(palette);
  row->addWidget(sentences_, kSentencesShare);
  row->addWidget(gainBox_, 1);
  row->addStretch(0);
  body()->addLayout(row);
  setTextScale(1);
}

void InsightCard::setTextScale(double scale) {
  // The font of this widget would not reach them: with a style sheet, Qt does not pass fonts on.
  for (auto* part : findChildren<QWidget*>()) {
    if (qobject_cast<QLabel*>(part) == nullptr && qobject_cast<QPushButton*>(part) == nullptr) continue;
    const double size = part != gain_ ? 1 : insight_.gain.isEmpty() ? kUnknownGainSize : kGainSize;
    QFont used = part->font();
    used.setPointSizeF(usualSize_ * scale * size);
    used.setBold(used.bold() || part == gain_);
    part->setFont(used);
  }
  const auto scaled = [scale](int pixels) { return static_cast<int>(pixels * scale); };
  sentences_->setMaximumWidth(scaled(kWidestSentences));
  gainBox_->setMinimumWidth(scaled(gainWidth_));
  gainBox_->setMaximumWidth(scaled(std::max(gainWidth_, kMostGain)));
}

QWidget* InsightCard::makeSentences(const shell::Palette&) {
  auto* box = new QWidget(this);
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(5);
  QLabel* what = wrappedLabel(QStringLiteral("%1. %2").arg(insight_.rank).arg(insight_.what), box);
  QFont bold = font();
  bold.setBold(true);
  what->setFont(bold);
  layout->addWidget(what);
  layout->addWidget(wrappedLabel(insight_.advice, box));
  QLabel* figure = wrappedLabel(insight_.figure, box);
  shell::Palette::makeQuiet(*figure);
  layout->addWidget(figure);
  auto* links = new QHBoxLayout;
  links->setSpacing(8);
  seenIn_ = new QPushButton(tr("Show in %1").arg(insight_.seenIn), box);
  seenIn_->setToolTip(tr("Show the page with the figures that this finding comes from"));
  connect(seenIn_, &QPushButton::clicked, this, [this] { Q_EMIT wanted(insight_.place); });
  links->addWidget(seenIn_);
  addTrials(*links, box);
  if (!insight_.changes.isEmpty()) {
    copy_ = new QPushButton(tr("Copy the change"), box);
    copy_->setToolTip(tr("Copy %1, as configurations and --set take it").arg(insight_.changes));
    connect(copy_, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(insight_.changes); });
    links->addWidget(copy_);
  }
  links->addStretch(1);
  layout->addLayout(links);
  addMenu();
  layout->addStretch(1);
  return box;
}

/// The menu of the right button copies the finding, and shows what it comes from.
void InsightCard::addMenu() {
  setContextMenuPolicy(Qt::ActionsContextMenu);
  const auto add = [this](const QString& name, auto run) {
    auto* action = new QAction(name, this);
    connect(action, &QAction::triggered, this, run);
    addAction(action);
  };
  add(tr("Copy the finding"), [this] {
    QApplication::clipboard()->setText(QStringLiteral("%1 %2").arg(insight_.what, insight_.advice));
  });
  if (!insight_.changes.isEmpty())
    add(tr("Copy the change"), [this] { QApplication::clipboard()->setText(insight_.changes); });
  add(tr("Show in %1").arg(insight_.seenIn), [this] { Q_EMIT wanted(insight_.place); });
}

/// Buttons that try the changes: by a replay, by a run, and by a replay beside the recorded call. All cards
/// have them. The tooltip of one that cannot be used says why.
void InsightCard::addTrials(QHBoxLayout& links, QWidget* box) {
  const QStringList changes = insight_.changes.split(QLatin1Char(' '));
  const auto add = [&](const QString& name, const QString& tip, const QString& whyNot, auto clicked) {
    auto* button = new QPushButton(name, box);
    button->setToolTip(whyNot.isEmpty() ? tip : whyNot);
    button->setEnabled(whyNot.isEmpty());
    connect(button, &QPushButton::clicked, this, clicked);
    links.addWidget(button);
  };
  const auto replay = [this, changes](bool compare) {
    shell::Place place;
    place.page = QStringLiteral("what-if");
    place.changes = changes;
    place.compare = compare;
    Q_EMIT wanted(place);
  };
  add(tr("Try in What if"), tr("Replay the recorded call with this change"), insight_.whyNoReplay,
      [replay] { replay(false); });
  add(tr("Run…"), tr("Show the settings with this change in the workbench, to run them"), insight_.whyNoRun,
      [this, changes] { Q_EMIT runWanted(changes); });
  add(tr("Compare"), tr("Open the replayed call as a profile and compare it with the recorded one"),
      insight_.whyNoReplay, [replay] { replay(true); });
}

QWidget* InsightCard::makeGain(const shell::Palette& palette) {
  auto* box = new QWidget(this);
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(3);
  const bool asked = !insight_.changes.isEmpty() && (insight_.bound.isEmpty() || insight_.verdict > 0);
  QLabel* caption =
      wrappedLabel(asked ? tr("Rate with %1").arg(changesInWords(insight_.changes)) : tr("Gain"), box);
  shell::Palette::makeQuiet(*caption);
  layout->addWidget(caption);
  // A bound says more than a change that gains nothing.
  const bool bounded = !insight_.bound.isEmpty() && insight_.verdict <= 0;
  const bool onlyLoses = insight_.gainReason.startsWith(QLatin1String(sections::kOnlyLosing));
  QLabel* gain = wrappedLabel(bounded                    ? insight_.bound
                              : !insight_.gain.isEmpty() ? insight_.gain
                              : onlyLoses                ? tr("none")
                                                         : tr("not known"),
                              box);
  gain_ = gain;
  const auto follow = [&palette, gain, verdict = insight_.verdict] {
    QPalette own = gain->palette();
    own.setColor(QPalette::WindowText, palette.ui(verdict > 0   ? Ui::good
                                                  : verdict < 0 ? Ui::text
                                                                : Ui::muted));
    gain->setPalette(own);
  };
  follow();
  connect(&palette, &shell::Palette::changed, gain, follow);
  layout->addWidget(gain);
  const QString reason = !insight_.gainReason.isEmpty() ? insight_.gainReason
                         : bounded ? tr("The rate if the stages were balanced; no change gains more.")
                         : !asked  ? tr("The rule names no key of the configuration, so nothing was tried.")
                                   : tr("A replay of the recorded call says this.");
  QLabel* why = wrappedLabel(reason, box);
  shell::Palette::makeQuiet(*why);
  layout->addWidget(why);
  layout->addStretch(1);
  return box;
}

}  // namespace pipescope::pages
