// Texts that random tokens came to within a grammar, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/rng.h"
#include "runtime/grammar/token_constraint.h"

namespace satchel::test {

// A vocabulary of all bytes and of pieces that JSON has.
inline std::shared_ptr<const runtime::TokenTrie> walk_tokens() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* piece : {"{\"",  "\":", "\",\"", "true", "null", "[[", "]}", "\"}",  ", ", ":\"",
                            "name", "é",   "\\u00", "\\\"", "-1",   "0.", "e+", "\n  ", "id", "}}"})
    texts.emplace_back(piece);
  texts.emplace_back("");
  return std::make_shared<runtime::TokenTrie>(
      texts, std::vector<std::int32_t>{static_cast<std::int32_t>(texts.size() - 1)});
}

// A text that random tokens came to; towards its end those are taken that close what is open.
inline std::string random_text(const runtime::Grammar& grammar,
                               const std::shared_ptr<const runtime::TokenTrie>& tokens, Rng& rng) {
  runtime::TokenConstraint at(grammar, tokens);
  const std::int32_t end = tokens->ends().front();
  std::string text;
  for (std::size_t n = 0; n < 3000 && !at.is_ended(); ++n) {
    std::vector<float> logits(tokens->n_tokens(), 0);
    if (!at.mask(logits)) return text + "<stuck>";
    if (n > 40 && at.may_end()) break;
    std::vector<std::int32_t> some;
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (logits[i] == 0) some.push_back(static_cast<std::int32_t>(i));
    std::int32_t token = some[rng.next() % some.size()];
    for (const char* closing : {"]", "}", "\""})  // a quote first: a string may have the others
      if (const auto found =
              std::ranges::find(some, closing, [&](std::int32_t one) { return tokens->text(one); });
          n > 40 && found != some.end())
        token = *found;
    if (token == end) break;
    text += tokens->text(token);
    at.take(token);
  }
  return at.may_end() ? text : text + "<cut>";
}

}  // namespace satchel::test
