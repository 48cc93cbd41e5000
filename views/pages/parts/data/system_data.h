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

struct SystemData {
  sections::SectionTable devices, links, spaces, communication, axes;
  std::int64_t unused = 0;  ///< links that carry nothing, which the table leaves out
  double perUnit = 1;
  QStringList remarks;
  std::vector<geometry::TopologyChip> chips;
  std::vector<geometry::TopologyLink> between;
  geometry::TopologyParts parts;
  QStringList chipTips, linkTips;
  std::vector<std::pair<int, int>> rowsOf;  ///< rows of the table for both directions of a link; −1: none
  std::vector<std::int32_t> stages;         ///< stages that the chips hold, ascending
  bool collectives = false;                 ///< the use of some links is that of collectives
};

/// Columns of the table of links.
struct LinkColumn {
  enum Index : std::size_t { from, to, name, capacity, bytes, transfers, busy, rate };
};

/// The colour of a link by the share of the call in which it is in use.
geometry::ColourRole roleOfUse(double share);

/// Adds the chips, one link for both directions between two of them, and what collectives use, from the
/// tables of links and of communication.
void addTopology(const analysis::Catalog& catalog, model::ExecutableId executable, SystemData& made);

/// Takes links without traffic out of the table: those of a fully connected system are very many.
void leaveOutUnused(SystemData& made);

}  // namespace pipescope::pages
