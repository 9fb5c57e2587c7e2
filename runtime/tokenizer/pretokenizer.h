// Pretokenizer: splits a text into the words within which byte-level BPE merges.
//   how      a list of patterns. Each splits the stretches left by the patterns before it into its
//            matches and the text between them, and sees nothing outside its stretch.
//   threads  const calls from any thread
//   cost     linear in the text
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::runtime {

class Pretokenizer {
 public:
  using WordFn = std::function<void(std::string_view word)>;

  // By the name in tokenizer.ggml.pre. Errors: unsupported MODEL_TOKENIZER for an unknown name,
  // with a list of known ones.
  static Result<Pretokenizer> named(std::string_view name);
  static std::vector<std::string_view> names();
  // Whether models with this name begin a text with bos if their file does not say.
  static bool adds_bos_by_default(std::string_view name);

  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

  // Whether a word that is itself a piece stays whole, regardless of merges (Llama 3).
  bool ignores_merges() const { return ignores_merges_; }
  // Calls `word` for the words of `text` (valid UTF-8) in order; concatenated they are the text.
  Result<void> split(std::string_view text, const WordFn& word) const;

 private:
  class Pattern;
  Pretokenizer();
  Result<void> split(std::string_view text, std::size_t pattern, const WordFn& word) const;

  std::vector<Pattern> patterns_;
  bool ignores_merges_ = false;
};

}  // namespace satchel::runtime
