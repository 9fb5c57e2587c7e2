#include "mutate.h"

#include <algorithm>
#include <cstring>

namespace satchel::fuzz {
namespace {

using Step = void (*)(Input& input, const Input& other, Rng& rng);

void flip_bit(Input& input, const Input&, Rng& rng) {
  if (!input.empty())
    input[below(rng, input.size())] ^= static_cast<std::uint8_t>(1u << below(rng, 8));
}

void set_byte(Input& input, const Input&, Rng& rng) {
  if (!input.empty()) input[below(rng, input.size())] = static_cast<std::uint8_t>(rng.next());
}

// An extreme number, or the one that lies there and a little more or less, in 2, 4 or 8 bytes.
void set_number(Input& input, const Input&, Rng& rng) {
  const std::size_t width = std::size_t{2} << below(rng, 3);
  if (input.size() < width) return;
  const std::size_t at = below(rng, input.size() - width + 1);
  std::uint64_t number = 0;
  std::memcpy(&number, input.data() + at, width);
  number = below(rng, 2) == 0 ? extreme_number(rng) : number + below(rng, 33) - 16;
  std::memcpy(input.data() + at, &number, width);
}

void cut_end(Input& input, const Input&, Rng& rng) {
  input.resize(below(rng, input.size() + 1));
}

void remove_range(Input& input, const Input&, Rng& rng) {
  const std::size_t at = below(rng, input.size());
  const std::size_t length = std::min(input.size() - at, 1 + below(rng, 64));
  const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
  input.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
}

void insert_bytes(Input& input, const Input&, Rng& rng) {
  const auto value = static_cast<std::uint8_t>(rng.next());
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(rng, input.size() + 1)),
               1 + below(rng, 64), value);
}

// A piece of `from` goes over or into `input`.
void splice(Input& input, const Input& from, Rng& rng) {
  if (from.empty()) return;
  const std::size_t at = below(rng, from.size());
  const std::size_t length =
      std::min(from.size() - at, 1 + below(rng, below(rng, 2) == 0 ? 16 : 1024));
  const Input piece(from.begin() + static_cast<std::ptrdiff_t>(at),
                    from.begin() + static_cast<std::ptrdiff_t>(at + length));
  const std::size_t to = below(rng, input.size() + 1);
  if (below(rng, 2) == 0) {
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
  } else {
    const std::size_t fits = std::min(piece.size(), input.size() - to);
    std::copy_n(piece.begin(), fits, input.begin() + static_cast<std::ptrdiff_t>(to));
  }
}

void repeat_own(Input& input, const Input&, Rng& rng) {
  splice(input, Input(input), rng);
}

constexpr Step kSteps[] = {flip_bit, set_byte,     set_number,   set_number, set_number,
                           cut_end,  remove_range, insert_bytes, splice,     repeat_own};

}  // namespace

std::uint64_t extreme_number(Rng& rng) {
  const std::uint64_t power = std::uint64_t{1} << below(rng, 64);
  switch (below(rng, 5)) {
    case 0:
      return below(rng, 3);
    case 1:
      return power;
    case 2:
      return power - 1;
    case 3:
      return power + 1;
    default:
      return ~std::uint64_t{0} - below(rng, 64);
  }
}

void mutate(Input& input, const Input& other, Rng& rng) {
  for (std::size_t left = 1 + below(rng, 8); left > 0; --left)
    kSteps[below(rng, std::size(kSteps))](input, other, rng);
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

}  // namespace satchel::fuzz
