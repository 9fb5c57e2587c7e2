#include "runtime/grammar/step_list.h"

#include <algorithm>
#include <array>

namespace satchel::runtime {
namespace {

// What is left of `mark` at the end of a text that ended with its first `n` bytes, after one more
// byte: as much of its beginning as possible (Knuth, Morris and Pratt).
std::size_t n_begun(std::string_view mark, std::size_t n, unsigned char byte) {
  for (std::size_t length = n + 1; length > 0; --length)
    if (static_cast<unsigned char>(mark[length - 1]) == byte &&
        mark.substr(0, n).ends_with(mark.substr(0, length - 1)))
      return length;
  return 0;
}

}  // namespace

StepList::At StepList::add(const GrammarStep& step) {
  if (steps_.size() >= Grammar::kStepsMax) {
    is_full_ = true;
    return 0;
  }
  steps_.push_back(step);
  return static_cast<At>(steps_.size() - 1);
}

StepList::At StepList::byte(std::uint8_t low, std::uint8_t high, At next) {
  const std::uint64_t key = std::uint64_t{next} << 16 | static_cast<std::uint64_t>(low) << 8 | high;
  const auto [found, is_new] = bytes_.try_emplace(key, 0);
  if (is_new)
    found->second =
        add({.kind = GrammarStep::Kind::byte, .low = low, .high = high, .next = next, .other = 0});
  return found->second;
}

StepList::At StepList::text(std::string_view bytes, At next) {
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const auto byte_at = static_cast<std::uint8_t>(bytes[i]);
    next = byte(byte_at, byte_at, next);
  }
  return next;
}

// One place for each length that may have begun; from each of them a byte leads to another.
StepList::At StepList::search(std::string_view mark, At next, bool is_without) {
  std::vector<At> places;
  for (std::size_t n = 0; n < mark.size(); ++n) places.push_back(fork(0, 0));
  if (is_full_) return 0;
  for (std::size_t n = 0; n < mark.size(); ++n) {
    std::array<std::size_t, 256> to = {};
    for (std::size_t byte = 0; byte < to.size(); ++byte)
      to[byte] = n_begun(mark, n, static_cast<unsigned char>(byte));
    std::vector<At> ways;
    for (std::size_t low = 0; low < to.size();) {
      std::size_t high = low;
      while (high + 1 < to.size() && to[high + 1] == to[low]) ++high;
      const bool is_found = to[low] == mark.size();
      if (!is_found || !is_without)
        ways.push_back(byte(static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high),
                            is_found ? next : places[to[low]]));
      low = high + 1;
    }
    if (is_without) ways.push_back(next);
    At all = ways.back();
    for (std::size_t i = ways.size() - 1; i-- > 1;) all = fork(ways[i], all);
    if (is_full_) return 0;
    steps_[places[n]] = {
        .kind = GrammarStep::Kind::fork, .low = 0, .high = 0, .next = ways[0], .other = all};
  }
  return places.front();
}

}  // namespace satchel::runtime
