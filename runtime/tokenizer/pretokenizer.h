// Pretokenizer: cuts a text into the words inside which byte-level BPE merges.
//   how      a list of patterns; each cuts what the ones before it left into its matches and what
//            lies between them, and sees nothing beyond the stretch it cuts
//   threads  const calls from any thread
//   cost     linear in the text
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::runtime {

class Pretokenizer {
 public:
  using WordFn = std::function<void(std::string_view word)>;

  // By tokenizer.ggml.pre; unsupported MODEL_TOKENIZER for a name that is not known, listing those
  // that are.
  static Result<Pretokenizer> named(std::string_view name);
  static std::vector<std::string_view> names();
  // Models of that name begin a text with bos, where their file does not say.
  static bool adds_bos_by_default(std::string_view name);

  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

  // A word that is a piece as it is stays one piece, whatever the merges say (Llama 3).
  bool ignores_merges() const { return ignores_merges_; }
  // Gives the words of `text` (valid UTF-8) in order; together they are the text.
  Result<void> split(std::string_view text, const WordFn& word) const;

 private:
  class Pattern;
  Pretokenizer();
  Result<void> split(std::string_view text, std::size_t pattern, const WordFn& word) const;

  std::vector<Pattern> patterns_;
  bool ignores_merges_ = false;
};

}  // namespace satchel::runtime
