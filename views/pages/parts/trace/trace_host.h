#pragma once
#include <QWidget>

#include "profiler/analysis/host/host_alignment.h"
#include "views/shell/page.h"

class QLabel;

namespace pipescope::timeline {
class HostCanvas;
}

namespace pipescope::pages {

/// Shows what the host did while the devices did what the trace shows: the threads of the host in wall time,
/// for the visible part of the trace. It is read when it is shown for the first time.
class TraceHost : public QWidget {
  Q_OBJECT

 public:
  /// `page` and `context` must outlive it.
  TraceHost(shell::Page& page, shell::PageContext& context, QWidget* parent = nullptr);
  /// Another profile, or the same one that has grown. Emits `possible` when it is known.
  void follow();

 Q_SIGNALS:
  /// Says if the profile holds spans of the host.
  void possible(bool any);

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void makeCanvas();
  void read();
  void followRange();

  shell::Page& page_;
  shell::PageContext& context_;
  timeline::HostCanvas* canvas_ = nullptr;  ///< null: nothing has been shown
  QLabel* note_;
  std::shared_ptr<const analysis::HostTimeline> timeline_;
  analysis::HostAlignment alignment_{{}, 0};
  std::shared_ptr<const analysis::Catalog> read_;  ///< trace that the timeline belongs to
};

}  // namespace pipescope::pages
