#pragma once
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/layout/panel.h"
#include "views/shell/page.h"

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace pipescope::pages {

/// Weight of a finding. A finding is a warning if it takes a tenth of the step or if its change gains
/// something, except if a replay says that the change gains nothing.
enum class InsightSign { error, warning, info };

/// A finding as the section "insights" reports it.
struct ShownInsight {
  int rank = 0;
  QString rule, what, figure, advice, changes;
  /// Sentences that say why a replay cannot try the changes, and why no run can have them. Empty: it can.
  QString whyNoReplay, whyNoRun;
  QString gain;        ///< "+16.4 %"; empty: not known
  QString bound;       ///< the gain that no change exceeds, "up to +12.3 %"; empty: not known
  QString gainReason;  ///< reason why the gain is not known, or what it assumes
  bool severe = false;
  int verdict = 0;   ///< 1: the changes gain something; −1: they do not; 0: not known
  double share = 0;  ///< share of the step time; 0: not known
  QString seenIn;    ///< "Stages, stage 1"
  shell::Place place;

  InsightSign sign() const;
};

/// Reads the findings of the section.
std::vector<ShownInsight> insightsOf(const sections::Section& section, const analysis::Catalog& catalog);

/// Two numbers with three significant digits, or with as many as they need to be told apart.
std::pair<QString, QString> toldApart(double figure, double threshold);
/// A sentence about the largest of all gains that are known; empty: none is.
QString largestGainInWords(const sections::Cell& gain, const QString& changes);

/// A finding with its figure, what to do, what that would gain, and a link to the page that shows it.
class InsightCard : public Panel {
  Q_OBJECT

 public:
  /// `gainWidth`: of the column with the gain; see gainWidthOf().
  InsightCard(const shell::Palette& palette, const ShownInsight& insight, int gainWidth,
              QWidget* parent = nullptr);
  /// A width that no word of the changes exceeds, so that names of keys are not cut.
  static int gainWidthOf(const std::vector<ShownInsight>& insights, const QFontMetrics& metrics);
  /// Makes the texts so many times as large as usual.
  void setTextScale(double scale);
  const ShownInsight& insight() const { return insight_; }
  QPushButton* seenIn() const { return seenIn_; }
  QPushButton* copy() const { return copy_; }

 Q_SIGNALS:
  /// The user wants to see where the finding comes from, or what a replay says of its changes.
  void wanted(const shell::Place& place);
  void runWanted(const QStringList& changes);  ///< in the workbench, with these changes of the settings

 private:
  void addMenu();
  void addTrials(QHBoxLayout& links, QWidget* box);
  QWidget* makeSentences(const shell::Palette& palette);
  QWidget* makeGain(const shell::Palette& palette);

  ShownInsight insight_;
  QPushButton *seenIn_ = nullptr, *copy_ = nullptr;
  QWidget *sentences_ = nullptr, *gainBox_ = nullptr;
  QLabel* gain_ = nullptr;
  double usualSize_ = 0;  ///< size of the texts, in points
  int gainWidth_ = 0;
};

}  // namespace pipescope::pages
