#include "profiler/analysis/model/origins.h"

namespace pipescope::analysis {

bool isCode(std::string_view category) {
  return category.ends_with("Code") || category.ends_with("State") || category.ends_with("Data") ||
         category.ends_with("Descriptor") || category.ends_with("Header");
}

Result<Origins> Origins::read(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable) {
  Origins origins;
  const auto add = [&](std::string name, const model::Operator& row) {
    OperatorOrigin origin{name, row.block, row.kind};
    origins.byName_.try_emplace(std::move(name), std::move(origin));
  };
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Operator>());
  // An operator that was fused into the one before it has no forward operator in the plan. The code takes its
  // name from its gradients.
  for (const bool others : {false, true}) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Operator> rows, source.block<model::Operator>(b));
      for (const model::Operator& row : *rows) {
        const bool forward = row.pass == model::Pass::forward, again = row.pass == model::Pass::recompute;
        if (row.executable != executable || row.block.empty() || forward == others) continue;
        std::string name = catalog.namePath(row.debugContext);
        if (forward) {
          add(std::move(name), row);
        } else if (origins.of(name).name.empty()) {
          // "<forward operator>/grad_input", "<forward operator>/recompute"
          const std::size_t slash = name.rfind('/');
          const bool own = slash == std::string::npos || (again && name.substr(slash) != "/recompute");
          add(own ? name : name.substr(0, slash), row);
        }
      }
    }
  }
  return origins;
}

OperatorOrigin Origins::of(std::string_view path) const {
  while (!path.empty()) {
    if (const auto found = byName_.find(path); found != byName_.end()) return found->second;
    const std::size_t slash = path.rfind('/');
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
  return {};
}

}  // namespace pipescope::analysis
