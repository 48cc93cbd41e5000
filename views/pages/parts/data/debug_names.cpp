#include "views/pages/parts/data/debug_names.h"

#include <algorithm>

namespace pipescope::pages {

using sections::Format;

std::vector<model::DebugContext> namesAbove(const analysis::Catalog& catalog, model::DebugContextId id) {
  constexpr std::size_t kMostNames = 64;  // contexts of a damaged file may form a circle
  std::vector<model::DebugContext> chain;
  while (chain.size() < kMostNames && catalog.debugContexts.contains(id)) {
    chain.push_back(catalog.debugContexts[id]);
    id = chain.back().parent;
  }
  std::ranges::reverse(chain);
  return chain;
}

sections::SectionTable debugTable(const std::vector<model::DebugContext>& chain) {
  sections::SectionTable table{"debug",
                               "Debug context",
                               chain.empty() ? "select a row that has a name of its own"
                                             : "from the model down; profiles hold no source files and lines",
                               {},
                               {}};
  table.columns = {{"name", "Name", Format::plain, "own part of the path"},
                   {"layer", "Layer", Format::plain, "what the name belongs to"},
                   {"path", "Path", Format::plain, ""}};
  std::string path;
  for (const model::DebugContext& context : chain) {
    path += (path.empty() ? "" : "/") + context.name;
    table.rows.push_back({context.name, context.layer, path});
  }
  return table;
}

}  // namespace pipescope::pages
