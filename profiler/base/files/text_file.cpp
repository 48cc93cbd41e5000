#include "profiler/base/files/text_file.h"

#include <filesystem>
#include <fstream>
#include <vector>

namespace pipescope::base {

Result<std::string> readTextFile(const std::string& file, const std::string& what, std::size_t most) {
  const std::string cannot = "Cannot read the " + what + " " + file + ": ";
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) return ioError(cannot + "it is a folder.");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return ioError(cannot + "no such file, or no permission.");
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || stream.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most)
      return badInput(file + " is larger than " + std::to_string(most >> 20) + " MiB: this is no " + what +
                      ".");
  }
  if (stream.bad()) return ioError(cannot + "it is no plain file.");
  return text;
}

}  // namespace pipescope::base
