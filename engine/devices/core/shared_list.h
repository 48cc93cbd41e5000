#pragma once
// A list that its copies share.
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace pipescope::devices {

/// A list that never changes. Its copies share one memory, because a large system has 100,000 equal devices
/// with equal lists.
template <class Element>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::initializer_list<Element> elements) : SharedList(std::vector<Element>(elements)) {}
  SharedList(std::vector<Element> elements)  // NOLINT: a list is made of its elements
      : elements_(elements.empty() ? nullptr
                                   : std::make_shared<const std::vector<Element>>(std::move(elements))) {}

  std::size_t size() const { return elements_ == nullptr ? 0 : elements_->size(); }
  bool empty() const { return elements_ == nullptr; }
  const Element* begin() const { return elements_ == nullptr ? nullptr : elements_->data(); }
  const Element* end() const { return begin() + size(); }
  const Element& front() const { return elements_->front(); }
  const Element& operator[](std::size_t at) const { return (*elements_)[at]; }
  const Element& at(std::size_t at) const { return elements_->at(at); }
  friend bool operator==(const SharedList& a, const SharedList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::shared_ptr<const std::vector<Element>> elements_;  ///< null: the list is empty
};

}  // namespace pipescope::devices
