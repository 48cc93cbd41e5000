#pragma once
#include <QObject>
#include <QPointer>
#include <map>
#include <memory>
#include <vector>

#include "views/shell/page.h"

namespace pipescope::shell {

class Comparison;

/// While two profiles are compared, each page has a second page of the same kind that is not shown and reads
/// the source. The parts of the shown page then show the figures of both (beside.h), and a main chart of the
/// source lies above the page's own (Page::chartBeside).
class BesidePages : public QObject {
  Q_OBJECT

 public:
  /// `context` is that of the window's own pages.
  BesidePages(PageContext& context, QObject* parent);
  ~BesidePages() override;

  /// Compares the page that the window shows now, and no other.
  void follow(Page* shown, const PageDefinition& definition);
  /// True when the source's page has read what it shows.
  bool isSettled() const;
  /// Reads the source's page again, such as after a setting changed.
  void reload();

 private:
  void followComparison();
  void followExecutable();
  void begin();
  void end();
  void join();
  void showLine(const QString& why);
  void takeChart();
  void followRange(bool ofSource);
  void shareControls();
  bool isSameWork() const;
  double ticksRatio() const;

  PageContext& own_;
  std::unique_ptr<ProfileSession> session_;
  std::unique_ptr<Comparison> none_;  ///< the source's pages compare with nothing
  Selection selection_;
  TimeRange range_;
  Actions actions_;
  PageContext context_;
  std::map<QString, Page*> pages_;  ///< the source's pages, by id
  QPointer<Page> shown_;
  QPointer<QWidget> chart_;  ///< chart of the source, above the shown page
  Page* source_ = nullptr;   ///< the source's page of the shown one; null: it is not compared
  const PageDefinition* definition_ = nullptr;
  std::shared_ptr<const analysis::Catalog> compared_;
  QString why_;  ///< says why the source's page has nothing to show; empty: it has
  bool following_ = false;
};

}  // namespace pipescope::shell
