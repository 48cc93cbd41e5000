#pragma once
// The host's timeline as shapes: calls, the nested spans of each thread, and series, over wall time.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/host/host_timeline.h"
#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/folding.h"
#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::geometry {

/// Something that the timeline of the host shows.
struct HostHit {
  enum class Kind { call, span, event, curve };
  Kind kind = Kind::span;
  std::size_t lane = 0;   ///< place of the thread or curve
  std::size_t index = 0;  ///< place of the call, span, event or point
  friend bool operator==(const HostHit&, const HostHit&) = default;
};

/// Rows from top to bottom: one for each pinned curve, which do not scroll, one for the calls, then a block
/// for each thread, then one for each curve.
class HostScene {
 public:
  static constexpr int kRow = 18, kGap = 10, kCurve = 56, kPinned = 38;

  /// A block of rows that has a name.
  struct Band {
    enum class Kind { calls, lane, curve };
    Kind kind = Kind::lane;
    std::size_t place = 0;  ///< index of the thread or curve
    int y = 0, height = 0;
    bool pinned = false;
  };

  HostScene() = default;
  explicit HostScene(std::shared_ptr<const analysis::HostTimeline> timeline);

  const analysis::HostTimeline* timeline() const { return timeline_.get(); }
  const std::vector<Band>& bands() const { return bands_; }
  int height() const { return height_; }
  /// Height of the pinned curves at the top; 0: there are none.
  int pinned() const { return pinned_; }

  /// Draws the scene from `top` on in a window of `height` pixels, without the pinned curves. Names other
  /// than `only` are dimmed; −1: none is.
  Shapes draw(const TimeView& view, int top, int height, const TextMeasure& measure, int only = -1) const;
  Shapes drawPinned(const TimeView& view) const;
  /// All threads on a strip of this height: a line for each, with its outermost spans.
  Shapes overview(const TimeView& view, int height) const;

  std::optional<HostHit> hit(const TimeView& view, int top, int x, int y) const;
  Box boxOf(const TimeView& view, int top, const HostHit& hit) const;
  /// Start and end of a call or span; of an event or point its time.
  std::pair<Ticks, Ticks> timesOf(const HostHit& hit) const;
  /// The next (+1) or previous (−1) span of the same row, and the span around it or the first one in it.
  std::optional<HostHit> neighbour(const HostHit& hit, int direction) const;
  std::optional<HostHit> inward(const HostHit& hit, int direction) const;
  /// The same thing in a timeline that has grown: of the same kind, thread and times.
  std::optional<HostHit> find(const HostHit& before, std::pair<Ticks, Ticks> times) const;
  /// The first span, if there is one.
  std::optional<HostHit> first() const;

  /// The colour of a channel. The channels of Pipescope itself always have the same.
  ColourRole roleOfChannel(const std::string& channel) const;

 private:
  struct Lane {
    std::vector<WidestIndex> rows;
  };
  ColourRole roleOfName(std::int32_t name) const { return roles_[static_cast<std::size_t>(name)]; }
  void drawCalls(Shapes& shapes, const Band& band, const TimeView& view, int y,
                 const TextMeasure& measure) const;
  void drawLane(Shapes& shapes, const Band& band, const TimeView& view, int y, const TextMeasure& measure,
                int only) const;
  void drawCurve(Shapes& shapes, const Band& band, const TimeView& view, int y) const;
  std::optional<HostHit> hitLane(const Band& band, const TimeView& view, int x, int y) const;

  std::shared_ptr<const analysis::HostTimeline> timeline_;
  std::vector<Band> bands_;
  std::vector<Lane> lanes_;
  WidestIndex calls_;
  std::vector<std::string> channels_;
  std::vector<ColourRole> roles_;  ///< roles by name
  int height_ = 0, pinned_ = 0;
};

}  // namespace pipescope::geometry
