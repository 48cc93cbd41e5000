#include "engine/ops/core/work_text.h"

#include <charconv>

namespace pipescope::ops {
namespace {

// The structured bindings name all members, so that a new member does not compile until its text is added.
class WorkText {
 public:
  explicit WorkText(std::string& text) : text_(text) {}

  void add(const Contraction& work) {
    const auto& [phase, batch, groups, inputChannels, outputChannels, field, kernel, output, stride, dilation,
                 padding, transposed, type, accumulate, trained] = work;
    write(phase, batch, groups, inputChannels, outputChannels, field, kernel, output, stride, dilation,
          padding, transposed, type, accumulate, trained);
  }
  void add(const Map& work) {
    const auto& [function, elements, operands, type, inPlace, perRow] = work;
    write(function, elements, operands, type, inPlace, perRow);
  }
  void add(const Reduce& work) {
    const auto& [function, outputs, depth, contiguous, type, run, rows] = work;
    write(function, outputs, depth, contiguous, type, run, rows);
  }
  void add(const Pool& work) {
    const auto& [function, backward, batch, channels, field, kernel, output, stride, type] = work;
    write(function, backward, batch, channels, field, kernel, output, stride, type);
  }
  void add(const Gather& work) {
    const auto& [rows, rowElements, tableRows, type] = work;
    write(rows, rowElements, tableRows, type);
  }
  void add(const Scatter& work) {
    const auto& [rows, rowElements, tableRows, accumulate, type] = work;
    write(rows, rowElements, tableRows, accumulate, type);
  }
  void add(const Rearrange& work) {
    const auto& [elements, runElements, type] = work;
    write(elements, runElements, type);
  }
  void add(const Sort& work) {
    const auto& [rows, rowElements, keep, type] = work;
    write(rows, rowElements, keep, type);
  }
  void add(const Random& work) {
    const auto& [elements, type] = work;
    write(elements, type);
  }
  void add(const Collective& work) {
    const auto& [kind, elements, type, group, axis, holders, ofModel, places, choices] = work;
    const auto& [experts, perToken, groups, groupChoices] = choices;
    write(kind, elements, type, group, axis, holders, ofModel, places, experts, perToken, groups,
          groupChoices);
  }
  void add(const HostCopy& work) {
    const auto& [toDevice, bytes, remote] = work;
    write(toDevice, bytes.count, remote);
  }

 private:
  template <class... Parts>
  void write(const Parts&... parts) {
    (writeOne(parts), ...);
  }
  template <class Number>
  void writeOne(Number number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(number)).ptr;
    text_.append(digits, end).push_back(',');
  }
  void writeOne(const std::vector<std::int64_t>& list) {
    for (const std::int64_t each : list) writeOne(each);
    text_.push_back(';');
  }

  std::string& text_;
};

}  // namespace

void appendText(std::string& text, const WorkItem& item) {
  WorkText writer(text);
  text += std::to_string(item.index()) + ":";
  std::visit([&](const auto& work) { writer.add(work); }, item);
}

}  // namespace pipescope::ops
