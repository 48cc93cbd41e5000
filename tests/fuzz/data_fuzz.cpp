// Reads bytes as each kind of data file: arrays and archives of NumPy, IDX files, images. What can be read is
// written and read again. A crash, hang, leak or unbounded memory is a fault; an error sentence is not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/data/idx_file.h"
#include "engine/data/image_file.h"
#include "engine/data/npy_file.h"
#include "fuzz_checks.h"

namespace {

using namespace pipescope;
using fuzz::hasResultOrSentence, fuzz::require;

void readArray(std::span<const std::byte> bytes, const std::string& path) {
  const auto array = data::parseNpy(bytes, "fuzz.npy");
  const auto type = data::readNpyType(path);
  if (!hasResultOrSentence(array)) return;
  require(hasResultOrSentence(type) && type->shape == array->type.shape, "type and array differ");
  if (array->type.element == graph::ElementType::bfloat16) return;
  const auto again = data::parseNpy(data::npyBytes(array->type, array->bytes), "again.npy");
  require(again.ok() && again->bytes == array->bytes, "an array that was written is another one");
}

void readArchive(const std::string& path) {
  const auto types = data::readNpzTypes(path);
  const auto arrays = data::readNpz(path);
  if (!hasResultOrSentence(arrays)) return;
  require(hasResultOrSentence(types), "arrays can be read, but not their types");
  for (const auto& [name, array] : *arrays) {
    const auto found = types->find(name);
    require(found != types->end() && found->second.shape == array.type.shape, "types and arrays differ");
  }
}

void readIdx(const std::string& path) {
  for (const data::IdxKind kind : {data::IdxKind::labels, data::IdxKind::images}) {
    const auto extents = data::readIdxExtents(path, kind);
    const auto array = data::readIdx(path, kind);
    if (!hasResultOrSentence(array)) continue;
    require(hasResultOrSentence(extents) && *extents == array->extents, "header and array differ");
  }
}

void readImage(const std::string& path) {
  for (const std::int64_t channels : {1, 3}) {
    const auto image = data::readImage(path, channels);
    if (!hasResultOrSentence(image)) continue;
    require(data::fitted(*image, 8, 8).size() == static_cast<std::size_t>(64 * channels),
            "a part is missing");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("data", MFD_CLOEXEC);
  require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size), "no memory for the input");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  readArray(std::as_bytes(std::span(data, size)), path);
  readArchive(path);
  readIdx(path);
  readImage(path);
  close(file);
  return 0;
}
