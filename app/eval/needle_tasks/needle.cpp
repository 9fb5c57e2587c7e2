#include "app/eval/needle_tasks/needle.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kTokensPerValue = 12;  // a name of many pieces, and what stands after it

std::string_view without_blanks_before(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// Bytes above ASCII count as letters.
bool is_word_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Both in lower case.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_part(text[at - 1])) &&
        (end == text.size() || !is_word_part(text[end])))
      return true;
  }
  return false;
}

double share_said(std::string_view said, const std::vector<std::string>& values) {
  const auto n =
      std::ranges::count_if(values, [&](const std::string& value) { return says(said, value); });
  return static_cast<double>(n) / static_cast<double>(values.size());
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

bool says(std::string_view said, std::string_view value) {
  return has_word(lower(said), lower(value));
}

bool says_first(std::string_view said, std::string_view value) {
  said = without_blanks_before(said);
  if (!said.starts_with(value)) return false;
  return said.size() == value.size() || !is_word_part(said[value.size()]);
}

double needle_score(std::string_view said, const Needle& needle) {
  SATCHEL_ASSERT(!needle.values.empty());
  if (needle.values.size() == 1) return says_first(said, needle.values[0]) ? 1 : 0;
  return share_said(said, needle.values);
}

bool needle_said_enough(std::string_view said, const Needle& needle) {
  said = without_blanks_before(said);
  if (needle.values.size() == 1) {
    const std::size_t n = needle.values[0].size();
    return said.size() > n &&
           !std::all_of(said.begin() + std::ptrdiff_t(n), said.end(), is_word_part);
  }
  if (said.find("\n\n") != said.npos) return true;
  // A word at the end may still grow.
  return !said.empty() && !is_word_part(said.back()) && share_said(said, needle.values) == 1;
}

std::size_t needle_answer_tokens(const Needle& needle) {
  return kTokensPerValue * needle.values.size();
}

}  // namespace satchel::eval
