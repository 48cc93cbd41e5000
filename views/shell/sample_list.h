#pragma once
#include "views/shell/card_list.h"

namespace pipescope::shell {

/// The samples as cards: a picture, a sentence and how long a run takes. A click runs one and opens its
/// profile; the menu of the right button opens its configuration in the workbench instead.
class SampleList : public CardList {
  Q_OBJECT

 public:
  using CardList::CardList;
  QMenu* makeMenu(const QListWidgetItem& item) override;

 Q_SIGNALS:
  void editWanted(const QString& path);
};

}  // namespace pipescope::shell
