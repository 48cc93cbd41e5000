#include "engine/compile/mesh.h"

#include <algorithm>

#include "profiler/base/check.h"

namespace pipescope::compile {
namespace {

/// Ranks of a place along an axis: their number, and the distance between neighbours.
struct RankAxis {
  int size = 1, stride = 1;
};

RankAxis rankAxis(const Mesh& mesh, model::MeshAxis axis) {
  const int tensor = mesh.width / (mesh.contexts * mesh.experts);
  if (axis == model::MeshAxis::tensor) return {tensor, 1};
  if (axis == model::MeshAxis::context) return {mesh.contexts, tensor};
  return {mesh.experts, tensor * mesh.contexts};
}

/// Returns the ranks that a rank meets along an axis, itself included: `count` neighbours, or with 0 all.
std::vector<int> ranksAlong(const RankAxis& axis, int rank, std::int64_t count) {
  const int own = rank / axis.stride % axis.size, size = count > 0 ? static_cast<int>(count) : axis.size;
  std::vector<int> ranks;
  for (int k = own / size * size; k < std::min(axis.size, (own / size + 1) * size); ++k)
    ranks.push_back(rank + (k - own) * axis.stride);
  return ranks;
}

}  // namespace

std::string Mesh::describeRanks() const {
  std::string text;
  const std::pair<const char*, int> axes[] = {
      {"tp", width / (contexts * experts)}, {"cp", contexts}, {"ep", experts}};
  for (const auto& [name, size] : axes)
    if (size > 1) text += (text.empty() ? "" : " × ") + std::string(name) + " " + std::to_string(size);
  return text;
}

std::vector<int> Mesh::group(int chip, const ops::Collective& collective) const {
  using Holders = ops::Collective::Holders;
  std::vector<int> chips;
  const int replica = replicaOf(chip), place = placeOf(chip), rank = rankOf(chip);
  if (collective.axis == model::MeshAxis::pipe) {
    PIPESCOPE_CHECK(!collective.places.empty(), "a collective over places names them");
    for (const std::int64_t each : collective.places)
      chips.push_back(this->chip(replica, static_cast<int>(each), rank));
  } else if (collective.axis == model::MeshAxis::data) {
    std::vector<int> ranks{rank};
    if (collective.holders != Holders::replicas)
      ranks = ranksAlong(rankAxis(*this, model::MeshAxis::context), rank, 0);
    if (collective.holders == Holders::all) {
      std::vector<int> more;
      for (const int each : ranks)
        for (const int other : ranksAlong(rankAxis(*this, model::MeshAxis::expert), each, 0))
          more.push_back(other);
      ranks = std::move(more);
    }
    const int size = collective.group > 0 ? static_cast<int>(collective.group) : replicas,
              first = replica / size * size;
    for (int r = first; r < first + size; ++r) {
      for (const int each : ranks) {
        chips.push_back(this->chip(r, place, each));
        if (mirrored && collective.group == 0) chips.push_back(this->chip(r, places - 1 - place, each));
      }
    }
  } else {
    for (const int each : ranksAlong(rankAxis(*this, collective.axis), rank, collective.group))
      chips.push_back(this->chip(replica, place, each));
  }
  if (!std::ranges::is_sorted(chips)) std::ranges::sort(chips);  // there are many, and mostly in order
  return chips;
}

}  // namespace pipescope::compile
