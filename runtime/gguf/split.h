// A model split into shards, as llama-gguf-split writes them: "NAME-00002-of-00003.gguf" is shard 2
// of 3. The first shard has the metadata; each has its own tensors.
//   errors  MODEL_SHARD, naming the shard and what is wrong with it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/base/result.h"
#include "runtime/gguf/parse.h"

namespace satchel::runtime {

// A shard's file name, parsed; numbers start at 1.
struct SplitName {
  std::filesystem::path before;  // folder and NAME
  std::uint32_t number = 0, count = 0;
  std::string ending = ".gguf";  // in the file's own letter case

  // The path of another shard of the same model, 1 … count.
  std::filesystem::path part(std::uint32_t other) const;
};
// Nothing if the file is not named like a shard.
std::optional<SplitName> split_name(const std::filesystem::path& path);

// The shard number in the metadata ("split.no", "split.count"); count is 1 if absent.
struct SplitPlace {
  std::uint32_t number = 1, count = 1;
};
SplitPlace split_place(const GgufTable& table);

// Adds the tensors of another shard, whose file must outlive the table. Fails if both have a tensor
// of the same name.
Result<void> add_tensors_of(const GgufTable& part, GgufTable& to);

}  // namespace satchel::runtime
