#pragma once
#include <QWidget>
#include <vector>

#include "views/pages/parts/layout/insight_card.h"
#include "views/shell/growing.h"

class QGridLayout;

namespace pipescope::pages {

/// The cards of findings, to be read line by line. In a wide window they lie in two columns, and on a large
/// screen with room to spare their text is larger.
class InsightCards : public QWidget, public shell::Growing {
  Q_OBJECT

 public:
  explicit InsightCards(const shell::Palette& palette, QWidget* parent = nullptr);
  void setInsights(const std::vector<ShownInsight>& insights);
  Heights heights() const override { return heights_; }
  Turn turn() const override { return Turn::texts; }
  void growTo(int height) override;

 Q_SIGNALS:
  void wanted(const shell::Place& place);
  void runWanted(const QStringList& changes);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  double largestScale() const;
  int heightAt(double scale);
  void arrange();

  const shell::Palette& palette_;
  std::vector<InsightCard*> cards_;
  QGridLayout* layout_;
  double scale_ = 1;
  Heights heights_;
  QSize arrangedFor_;  ///< width of the cards and height of the window
  int grownTo_ = 0;    ///< height that growTo() received last
};

}  // namespace pipescope::pages
