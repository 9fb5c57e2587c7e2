// A model whose every token leads to one other, so that what it says is known. As a file, for
// programs; tests/unit/runtime/chain_model.h opens it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "support/gguf_writer.h"

namespace satchel::test {

// Byte-level BPE with a token for each byte and those of ChainToken; the others are fillers.
inline constexpr std::size_t kBytePieces = 320;
void add_byte_vocabulary(tests::GgufWriter& out);

// Its tokens beside the 256 bytes.
struct ChainToken {
  static constexpr std::int32_t end = 257, think = 258, thought = 259, two_lines = 260;
};

struct ChainModel {
  std::map<std::int32_t, std::int32_t> next;
  std::string jinja;  // the chat template
  // What has been read is no number from this token on.
  std::optional<std::int32_t> poison = {};
};
// Qwen 3's template, with the switch: thinks "Hm" (5 tokens, marks and two lines among them) and
// says "Yes" (3); told not to think, says "Yes" at once.
ChainModel thoughtful_chain();
// Says "!" to "~", the printable bytes in their order, again and again: its answers end because
// they repeat themselves.
ChainModel talkative_chain();

// False if that failed.
bool write_chain(const ChainModel& model, const std::filesystem::path& path);

}  // namespace satchel::test
