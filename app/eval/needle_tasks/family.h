// Families of needle tasks: texts that are made, to a wished length and from a seed, with facts in
// them and questions about the facts. The text is ours, no file is needed; the families are those
// of RULER (arXiv:2404.06654, section 3) and some beside.
//   same seed, same text  for one length and tokenizer
//   errors   PARAM: a length that not even the facts fit; those of `n_tokens`
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "app/eval/needle_tasks/needle.h"
#include "kernels/base/result.h"
#include "kernels/base/rng.h"

namespace satchel::eval {

struct NeedleFamily {
  std::string_view name;
  std::string_view about;  // for people
  // `size`: of what surrounds the facts, in sentences or words; at least 1. More makes a longer
  // text, the facts stay.
  NeedleContext (*make)(Rng& rng, std::size_t size) = nullptr;
};

std::span<const NeedleFamily> needle_families();
// nullptr: there is none of this name.
const NeedleFamily* find_needle_family(std::string_view name);

struct NeedleSpec {
  std::size_t n_tokens = 1300;  // of the context, its longest question and the answer to it
  std::uint64_t seed = 1;       // of this context
};
using CountTokens = std::function<Result<std::size_t>(std::string_view text)>;

// The longest context of the family that has no more tokens than are wished for.
Result<NeedleContext> make_needle_context(const NeedleFamily& family, const NeedleSpec& spec,
                                          const CountTokens& count_tokens);
Result<std::size_t> n_tokens_of(const NeedleContext& context, const CountTokens& count_tokens);

}  // namespace satchel::eval
