#include "engine/compile/mesh.h"

#include <algorithm>

#include "profiler/base/check.h"

namespace pipescope::compile {

std::vector<int> Mesh::group(int chip, model::MeshAxis axis, std::int64_t count) const {
  PIPESCOPE_CHECK(axis != model::MeshAxis::pipe, "places exchange by transfers, not by collectives");
  std::vector<int> chips;
  const int replica = replicaOf(chip), place = placeOf(chip), rank = rankOf(chip);
  if (axis == model::MeshAxis::data) {
    const int size = count > 0 ? static_cast<int>(count) : replicas, first = replica / size * size;
    for (int r = first; r < first + size; ++r) {
      chips.push_back(this->chip(r, place, rank));
      if (mirrored && count == 0) chips.push_back(this->chip(r, places - 1 - place, rank));
    }
  } else {
    const int size = count > 0 ? static_cast<int>(count) : width, first = rank / size * size;
    for (int k = first; k < first + size; ++k) chips.push_back(this->chip(replica, place, k));
  }
  std::ranges::sort(chips);
  return chips;
}

}  // namespace pipescope::compile
