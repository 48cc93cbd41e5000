#pragma once
// Content of the page about the system: a picture of chips and links, and tables.
#include <QString>
#include <QStringList>
#include <utility>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/geometry/charts/topology.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// In place of the row of a link in one direction: there is none, or the table leaves it out.
constexpr int kNoLink = -1, kLeftOut = -2;

struct SystemData {
  sections::SectionTable devices, links, spaces, communication, axes;
  std::int64_t unused = 0;  ///< links that carry nothing, which the table leaves out
  double perUnit = 1;
  QStringList remarks;
  std::vector<geometry::TopologyChip> chips;
  std::vector<geometry::TopologyLink> between;
  geometry::TopologyParts parts;
  QStringList chipTips;
  QStringList linkTips;  ///< lines of collectives below those of the links' transfers
  /// Rows of the table for both directions of a link, or kNoLink or kLeftOut.
  std::vector<std::pair<int, int>> rowsOf;
  std::vector<std::int32_t> stages;  ///< stages that the chips hold, ascending
  bool collectives = false;          ///< the use of some links is that of collectives
};

/// Columns of the table of links.
struct LinkColumn {
  enum Index : std::size_t { from, to, name, capacity, bytes, transfers, busy, rate };
};

/// The colour of a link by the share of the call in which it is in use.
geometry::ColourRole roleOfUse(double share);

/// Collects the tables, the chips, one link for both directions between two of them, and what collectives
/// use. Links without traffic are drawn, and left out of the table.
base::Result<SystemData> collectSystem(const sections::Context& context);

/// Traffic of a link in both directions, and what collectives do between its ends. It is made when it is
/// wanted, because a large system has very many links.
QString describeLink(const analysis::Catalog& catalog, const SystemData& made, std::size_t link);

}  // namespace pipescope::pages
