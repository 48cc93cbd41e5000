#pragma once
#include <QLabel>
#include <QWidget>
#include <vector>

#include "views/shell/beside.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/look/palette.h"

namespace pipescope::pages {

struct ShownFact {
  QString label, value, doc;
};

/// Shows names and values in as many pairs of columns as fit. In a comparison, a value that differs is shown
/// as "source → target".
class FactGrid : public QWidget, public shell::Beside {
  Q_OBJECT

 public:
  explicit FactGrid(const shell::Palette& palette, QWidget* parent = nullptr);
  void setFacts(std::vector<ShownFact> facts);
  /// Says if the facts are the same for every profile, whatever is selected.
  void setComparable(bool comparable) { comparable_ = comparable; }
  QString besideName() const override;
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  /// Uses as many columns as have at least this width; 370 unless set.
  void setColumnWidth(int width);
  const std::vector<ShownFact>& facts() const { return facts_; }
  /// The value of a fact; empty if there is no fact of that name.
  QString value(const QString& label) const;
  /// The value of a fact as it is drawn: cut if there is no room for it.
  QString shownValue(int index) const;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {160, 40}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Place of a column of facts, and the width of its labels.
  struct Column {
    int x, width, labels;
  };
  int columns(int width) const;
  int lines(int columns) const;
  std::vector<Column> needs(int count) const;
  std::vector<Column> place(int width) const;
  QRect cell(int index, int width) const;

  const shell::Palette& palette_;
  void showFacts(std::vector<ShownFact> facts);

  std::vector<ShownFact> own_, facts_;
  bool comparable_ = false;
  int columnWidth_ = 370;
};

using shell::ElidedLabel;

/// Shows a sentence with an icon before it.
class IconSentence : public QWidget {
  Q_OBJECT

 public:
  IconSentence(const shell::Palette& palette, const QString& icon, shell::Ui colour, const QString& sentence,
               QWidget* parent = nullptr);
};

}  // namespace pipescope::pages
