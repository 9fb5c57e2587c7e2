#include "runtime/grammar/code_points.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr char32_t kLastBeforeSurrogates = 0xd7ff, kBehindSurrogates = 0xe000;
// The last character of one, two, three and four bytes.
constexpr std::array<char32_t, 4> kLastOfLength = {0x7f, 0x7ff, 0xffff, CodePoints::kLast};

std::string spelled(char32_t code) {
  std::string bytes;
  append_code(code, bytes);
  return bytes;
}

struct Speller {
  StepList& steps;
  StepList::At next;
  std::vector<StepList::At> ways = {};

  // Both ends have as many bytes. Where continuation bytes are not all possible, the range is cut.
  void add(char32_t low, char32_t high) {
    for (const char32_t last : kLastOfLength)
      if (low <= last && high > last) {
        add(low, last);
        return add(last + 1, high);
      }
    for (int bits = 6; bits <= 18; bits += 6) {
      const char32_t rest = (1u << bits) - 1;
      if (high < 0x80 || (low & ~rest) == (high & ~rest)) continue;
      if ((low & rest) != 0) {
        add(low, low | rest);
        return add((low | rest) + 1, high);
      }
      if ((high & rest) != rest) {
        add(low, (high & ~rest) - 1);
        return add(high & ~rest, high);
      }
    }
    const std::string from = spelled(low), to = spelled(high);
    StepList::At at = next;
    for (std::size_t i = from.size(); i-- > 0;)
      at = steps.byte(static_cast<std::uint8_t>(from[i]), static_cast<std::uint8_t>(to[i]), at);
    ways.push_back(at);
  }
};

}  // namespace

CodePoints& CodePoints::add(char32_t low, char32_t high) {
  ranges_.push_back({low, high});
  return *this;
}

CodePoints CodePoints::with(char32_t low, char32_t high) const {
  CodePoints out = *this;
  return out.add(low, high);
}

CodePoints CodePoints::with(const CodePoints& others) const {
  CodePoints out = *this;
  out.ranges_.insert(out.ranges_.end(), others.ranges_.begin(), others.ranges_.end());
  return out;
}

std::vector<CodePoints::Range> CodePoints::normal() const {
  std::vector<Range> sorted;
  for (const auto& [low, high] : ranges_) {
    if (low <= kLastBeforeSurrogates)
      sorted.push_back({low, std::min(high, kLastBeforeSurrogates)});
    if (high >= kBehindSurrogates)
      sorted.push_back({std::max(low, kBehindSurrogates), std::min(high, kLast)});
  }
  std::erase_if(sorted, [](const Range& range) { return range.low > range.high; });
  std::ranges::sort(sorted, {}, &Range::low);
  std::vector<Range> out;
  for (const Range& range : sorted) {
    if (!out.empty() && range.low <= out.back().high + 1)
      out.back().high = std::max(out.back().high, range.high);
    else
      out.push_back(range);
  }
  return out;
}

CodePoints CodePoints::inverse() const {
  CodePoints out;
  char32_t from = 0;
  for (const auto& [low, high] : normal()) {
    if (low > from) out.add(from, low - 1);
    from = high + 1;
  }
  if (from <= kLast) out.add(from, kLast);
  return out;
}

bool CodePoints::has(char32_t code) const {
  return std::ranges::any_of(
      normal(), [&](const Range& range) { return code >= range.low && code <= range.high; });
}

StepList::At CodePoints::spell(StepList& steps, StepList::At next) const {
  Speller speller{steps, next};
  for (const auto& [low, high] : normal()) speller.add(low, high);
  if (speller.ways.empty()) return steps.byte(0xff, 0xff, next);
  StepList::At all = speller.ways.back();
  for (std::size_t i = speller.ways.size() - 1; i-- > 0;) all = steps.fork(speller.ways[i], all);
  return all;
}

}  // namespace satchel::runtime
