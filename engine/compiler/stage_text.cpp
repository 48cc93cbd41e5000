#include "engine/compiler/stage_text.h"

#include <charconv>

#include "engine/ops/core/work_text.h"

namespace pipescope::compile {
namespace {

// The structured bindings name all members, so that a new member does not compile until its text is added.
class StageText {
 public:
  explicit StageText(std::string& text) : text_(text) {}

  void add(const StageIr& stage) {
    const auto& [index, place, blocks, tensors, passes, stashEntries, stashBytesPerEntry, overlaps, mesh] =
        stage;
    write(index, place, blocks, tensors.items(), passes, stashEntries, stashBytesPerEntry.count, overlaps,
          mesh);
  }

 private:
  void add(const Mesh& mesh) {
    const auto& [replicas, places, width, contexts, experts, mirrored, atOnce, placesOutermost, ringBytes] =
        mesh;
    write(replicas, places, width, contexts, experts, mirrored, atOnce, placesOutermost, ringBytes);
  }
  void add(const IrTensor& tensor) {
    const auto& [name, type, use, copies, remote, shared, kept] = tensor;
    const auto& [element, shape] = type;
    write(name, element, shape, use, copies, remote, shared, kept);
  }
  void add(const PassIr& ir) {
    const auto& [pass, operators, calls] = ir;
    write(pass, operators, calls);
  }
  void add(const IrCall& call) {
    const auto& [function, name, first, count] = call;
    write(function, name, first, count);
  }
  void add(const IrOperator& op) {
    const auto& [name, kind, work, inputs, outputs, block, chains, again, group, replaced] = op;
    write(name, kind, work, inputs, outputs, block, chains, again, group, replaced);
  }
  void add(const IrOperator::Chain& chain) {
    const auto& [first, count] = chain;
    write(first, count);
  }
  void add(const ops::Work& work) {
    const auto& [item, repeat, label, concurrent] = work;
    ops::appendText(text_, item);
    write(repeat, label, concurrent);
  }
  void add(const IrTensorId& id) { writeOne(id.value); }

  template <class... Parts>
  void write(const Parts&... parts) {
    (writeOne(parts), ...);
  }
  void writeOne(const std::string& word) { appendWord(text_, word); }
  template <class Item>
  void writeOne(const std::vector<Item>& list) {
    writeOne(list.size());
    for (const Item& item : list) writeOne(item);
  }
  template <class Part>
  void writeOne(const Part& part) {
    if constexpr (std::is_integral_v<Part> || std::is_enum_v<Part>) {
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(part)).ptr;
      text_.append(digits, end).push_back(',');
    } else {
      add(part);
    }
  }

  std::string& text_;
};

}  // namespace

void appendText(std::string& text, const StageIr& stage) {
  StageText(text).add(stage);
}

void appendWord(std::string& text, const std::string& word) {
  text += std::to_string(word.size()) + ":" + word;
}

}  // namespace pipescope::compile
