#pragma once
// The content of the memory page, collected on a worker: bytes of each unit, in layers.
#include <QString>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/geometry/colour_role.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// Breakdowns in the order in which users are offered them.
enum class MemoryBreakdown { purpose, layer, category, region, liveness, none };

/// A memory space that holds something.
struct ShownSpace {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::string kind;
  std::int64_t units = 0, bytesPerUnit = 0;
};

struct MemoryLayer {
  std::string key;  ///< category or region, as the profile names it
  QString name;
  geometry::ColourRole role;
  std::vector<std::int64_t> values;
};

struct MemoryData {
  std::vector<ShownSpace> spaces;   ///< the spaces that users can choose
  std::vector<ShownSpace> shown;    ///< the spaces in the chart, one after another
  std::vector<MemoryLayer> layers;  ///< layers with a value for each unit of the shown spaces
  std::size_t units = 0;            ///< number of units of all spaces that are shown
  /// The name of a unit with its device. It is made when it is shown, because there may be very many.
  QString nameOf(std::size_t unit) const;
  std::vector<std::int64_t> used, spans;  ///< bytes used and address span of each unit
  sections::SectionTable table, allSpaces;
  std::vector<geometry::ColourRole> marks;  ///< colours of the rows of `table`
  std::int64_t capacity = 0;                ///< bytes that a unit can hold
  std::string unitName, partName;           ///< what the devices call a unit, and the heading of a layer
  bool divided = true;  ///< false if the profile does not say which unit holds which variable
};

struct MemoryChoice {
  model::MemorySpaceId space;  ///< none: all
  MemoryBreakdown breakdown = MemoryBreakdown::purpose;
  bool gaps = false;      ///< true for the address span instead of the bytes used
  bool peakOnly = false;  ///< by purpose or layer: leaves out what is live in other steps than the peak
};

/// Says what a unit holds: "IPU1 tile 122, 23.2 KiB of 624 KiB used (3.7 %), address span 212 KiB".
QString unitWords(const MemoryData& content, std::size_t unit);
/// Says which unit has the largest address span, which decides what fits, in the words of the other pages.
/// Empty if it is `unit`, whose words say its span.
QString largestSpanWords(const MemoryData& content, std::size_t unit);

/// Content of the chosen units by layer, or of all units if none is chosen.
sections::SectionTable breakdownTable(const MemoryData& content, const std::vector<int>& chosen);

/// Reads what the page on memory shows. Call it on a worker.
base::Result<MemoryData> collectMemory(const sections::Context& context, const MemoryChoice& choice,
                                       base::Progress& progress);

/// The colour of a category or purpose. It is the same in every profile.
geometry::ColourRole roleOfCategory(const std::string& category);
/// Writes "tile_memory" for people.
QString memoryWords(const std::string& kind);
/// Returns the name of what a column of the chart stands for: a tile, or a device whose memory is in one
/// piece.
std::string memoryUnit(const std::string& unitName);

}  // namespace pipescope::pages
