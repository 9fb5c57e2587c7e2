#include "runtime/gguf/split.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "runtime/gguf/number.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kDigits = 5;

std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

bool same_letter(char a, char lower) {
  return a == lower || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == lower);
}

std::uint32_t number_at(const GgufTable& table, std::string_view key, std::uint32_t absent) {
  const GgufValue* found = table.find_value(key);
  if (found == nullptr) return absent;
  const std::int64_t value = load_integer(found->type, found->bytes.data()).value_or(0);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT16_MAX));
}

}  // namespace

std::filesystem::path SplitName::part(std::uint32_t other) const {
  char place[32];
  std::snprintf(place, sizeof place, "-%05u-of-%05u", other, count);
  return before.string() + place + ending;
}

std::optional<SplitName> split_name(const std::filesystem::path& path) {
  constexpr std::string_view kOf = "-of-", kEnding = ".gguf";
  constexpr std::size_t kLength = 1 + kDigits + kOf.size() + kDigits + kEnding.size();
  const std::string text = path.string();
  if (text.size() <= kLength) return std::nullopt;
  const std::string_view end = std::string_view(text).substr(text.size() - kLength);
  const std::string_view ending = end.substr(kLength - kEnding.size());
  if (end[0] != '-' || end.substr(1 + kDigits, kOf.size()) != kOf ||
      !std::equal(ending.begin(), ending.end(), kEnding.begin(), same_letter))
    return std::nullopt;
  const auto number = number_of(end.substr(1, kDigits));
  const auto count = number_of(end.substr(1 + kDigits + kOf.size(), kDigits));
  if (!number || !count || *number == 0 || *number > *count) return std::nullopt;
  return SplitName{text.substr(0, text.size() - kLength), *number, *count, std::string(ending)};
}

SplitPlace split_place(const GgufTable& table) {
  return {.number = number_at(table, "split.no", 0) + 1,
          .count = std::max(1u, number_at(table, "split.count", 1))};
}

Result<void> add_tensors_of(const GgufTable& part, GgufTable& to) {
  to.tensors.insert(to.tensors.end(), part.tensors.begin(), part.tensors.end());
  to.by_name.resize(to.tensors.size());
  std::iota(to.by_name.begin(), to.by_name.end(), 0u);
  const auto name = [&](std::uint32_t i) { return to.tensors[i].name; };
  std::sort(to.by_name.begin(), to.by_name.end(),
            [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
  const auto twice =
      std::adjacent_find(to.by_name.begin(), to.by_name.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return name(a) == name(b); });
  if (twice == to.by_name.end()) return {};
  return Error{ErrorKind::corrupt, "MODEL_SHARD",
               "Two shards of the model contain the tensor " + quoted(name(*twice)) +
                   ". They do not belong together; get them again."};
}

}  // namespace satchel::runtime
