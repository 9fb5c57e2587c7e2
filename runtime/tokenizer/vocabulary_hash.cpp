// The hash by which a stored message says what made its tokens. It goes to disk: never change what
// it is taken over.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <string_view>

#include "kernels/base/assert.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {
namespace {

class Hash {
 public:
  Hash() {
    const XXH_errorcode code = XXH3_64bits_reset(&state_);
    SATCHEL_ASSERT(code == XXH_OK);
  }
  void add(std::uint64_t number) {
    std::uint8_t bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
    update(bytes, sizeof bytes);
  }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    update(text.data(), text.size());
  }
  void add(const std::optional<TokenId>& id) {
    add(static_cast<std::uint64_t>(id ? std::int64_t{*id} : std::int64_t{-1}));
  }
  std::uint64_t get() const { return XXH3_64bits_digest(&state_); }

 private:
  void update(const void* bytes, std::size_t n) {
    const XXH_errorcode code = XXH3_64bits_update(&state_, bytes, n);
    SATCHEL_ASSERT(code == XXH_OK);
  }
  XXH3_state_t state_;
};

}  // namespace

std::uint64_t Vocabulary::hash() const {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(kind));
  hash.add(pre);
  hash.add(static_cast<std::uint64_t>(pieces.size()));
  for (std::size_t i = 0; i < pieces.size(); ++i) hash.add(pieces[i]);
  for (const float score : scores) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(score)});
  for (const PieceType type : types) hash.add(static_cast<std::uint64_t>(type));
  for (std::size_t i = 0; i < merges.size(); ++i) hash.add(merges[i]);
  for (const auto& id : {unknown, bos, eos, eot}) hash.add(id);
  hash.add(std::uint64_t{adds_bos} | std::uint64_t{adds_space_prefix} << 1);
  return hash.get() != 0 ? hash.get() : 1;  // 0 says that nobody knows
}

}  // namespace satchel::runtime
