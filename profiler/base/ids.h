#pragma once
// Each kind of id is a type of its own, so a LaneId cannot pass for a DeviceId. Values count from 0 in the
// order of recording.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pipescope::base {

template <class Tag>
struct Id {
  std::int64_t value = -1;  ///< −1: no id

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(v) {}
  constexpr bool valid() const { return value >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

/// A vector whose elements are found by an id: element i belongs to the id with value i.
///
/// operator[] expects an id that the vector holds. Ids that come from a file may name anything, so look those
/// up with find() or ask contains() first.
template <class Id, class T>
class IdVector {
 public:
  using Items = std::vector<T>;
  using value_type = T;
  using Reference = typename Items::reference;
  using ConstReference = typename Items::const_reference;

  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T()) : items_(size, value) {}
  IdVector(Items items) : items_(std::move(items)) {}

  Reference operator[](Id id) { return items_[static_cast<std::size_t>(id.value)]; }
  ConstReference operator[](Id id) const { return items_[static_cast<std::size_t>(id.value)]; }
  bool contains(Id id) const { return id.valid() && static_cast<std::size_t>(id.value) < items_.size(); }
  /// Returns the element of this id, or null if the id is none or lies beyond the end.
  T* find(Id id) { return contains(id) ? &(*this)[id] : nullptr; }
  const T* find(Id id) const { return contains(id) ? &(*this)[id] : nullptr; }
  /// The id that the next element will have.
  Id nextId() const { return Id(static_cast<std::int64_t>(items_.size())); }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto begin() const { return items_.begin(); }
  auto end() { return items_.end(); }
  auto end() const { return items_.end(); }
  Reference front() { return items_.front(); }
  ConstReference front() const { return items_.front(); }
  Reference back() { return items_.back(); }
  ConstReference back() const { return items_.back(); }
  void push_back(T item) { items_.push_back(std::move(item)); }
  template <class... Arguments>
  Reference emplace_back(Arguments&&... arguments) {
    return items_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  void reserve(std::size_t size) { items_.reserve(size); }
  void shrink_to_fit() { items_.shrink_to_fit(); }
  void resize(std::size_t size) { items_.resize(size); }
  void assign(std::size_t size, const T& value) { items_.assign(size, value); }
  void clear() { items_.clear(); }
  /// The elements as a plain vector, for code that does not look them up by id.
  const Items& items() const { return items_; }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  Items items_;
};

}  // namespace pipescope::base

template <class Tag>
struct std::hash<pipescope::base::Id<Tag>> {
  std::size_t operator()(pipescope::base::Id<Tag> id) const noexcept {
    return std::hash<std::int64_t>()(id.value);
  }
};
