// What people want to know of a model file before they load it: from its metadata and its table of
// tensors alone, in no time.
//   errors  those of GgufFile::open. What this version cannot run is told as `unsupported`
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "kernels/base/result.h"

namespace satchel::runtime {

struct FileFacts {
  std::string title;          // general.name, or the file's
  std::string architecture;   // general.architecture
  std::string unsupported;    // why it does not run, for people; "": it does, as far as known
  std::string licence;        // general.license; "": the file names none
  std::string chat_template;  // the form of chat that was recognised; "": none is in the file
  bool has_template = false;  // it has one, recognised or not
  std::string weights;        // the tensor type that most of its values have: "Q4_K"
  std::uint64_t n_parameters = 0, n_bytes = 0;
  std::size_t n_context = 0, n_layers = 0, n_shards = 1;
};
Result<FileFacts> file_facts(const std::filesystem::path& file);

}  // namespace satchel::runtime
