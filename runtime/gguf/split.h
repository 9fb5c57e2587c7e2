// A model in several files, as llama-gguf-split writes them: "NAME-00002-of-00003.gguf" is part 2
// of 3; the first has the metadata, each its own tensors.
//   errors  MODEL_SHARD, naming the part and what is wrong with it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/base/result.h"
#include "runtime/gguf/parse.h"

namespace satchel::runtime {

// What a file's name says: the first part is number 1.
struct SplitName {
  std::filesystem::path before;  // folder and NAME
  std::uint32_t number = 0, count = 0;
  std::string ending = ".gguf";  // in the case the file has it

  // The name of another part of the same model, 1 … count.
  std::filesystem::path part(std::uint32_t other) const;
};
// Nothing: not named like a part.
std::optional<SplitName> split_name(const std::filesystem::path& path);

// What a part's metadata say ("split.no", "split.count"); count 1 where they say nothing.
struct SplitPlace {
  std::uint32_t number = 1, count = 1;
};
SplitPlace split_place(const GgufTable& table);

// The tensors of another part, whose file outlives the table too. Fails where both have one of the
// same name.
Result<void> add_tensors_of(const GgufTable& part, GgufTable& to);

}  // namespace satchel::runtime
