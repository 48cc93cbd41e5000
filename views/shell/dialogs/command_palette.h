#pragma once
#include <QDialog>
#include <QTimer>
#include <functional>
#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;

namespace pipescope::shell {

/// An entry that users choose by typing a part of its name.
struct PaletteEntry {
  QString name, detail;
  std::function<void()> run;
};

/// A text box above a list. Typing narrows the list, and Enter runs the chosen entry, or else the first.
/// A sentence says so if nothing matches.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<PaletteEntry> commands, QWidget* parent);
  /// Entries that are many, such as names of the profile, are looked for while the user types: `search` gets
  /// the text and calls back with those that match.
  using Search = std::function<void(const QString& text, std::function<void(std::vector<PaletteEntry>)>)>;
  void setSearch(Search search) { search_ = std::move(search); }
  /// Entries that are listed only once something has been typed.
  void setFurther(std::vector<PaletteEntry> entries);
  QString answer() const;  ///< the sentence below the list; empty: none
  QLineEdit* box() const { return box_; }
  QListWidget* list() const { return list_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void narrow(const QString& text);
  void startSearch();
  void add(const PaletteEntry& entry);
  void say();
  void runCurrent();

  std::vector<PaletteEntry> commands_, further_;
  std::vector<std::function<void()>> runs_;  ///< of the rows of the list
  Search search_;
  int searches_ = 0;  ///< counts the texts, so that late answers to older ones are dropped
  bool isSearching_ = false;
  QTimer rest_;
  QLineEdit* box_;
  QListWidget* list_;
  QLabel* answer_;
};

}  // namespace pipescope::shell
