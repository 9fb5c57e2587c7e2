// GBNF: a grammar as text, in llama.cpp's dialect.
//   form     name ::= expression, each on its own line; "root" is the whole text. An expression may
//            go on in the next line inside brackets, behind "|" and behind "::="
//            "text"  [a-z]  [^"\\]  .  (group)  a | b  a*  a+  a?  a{2}  a{2,}  a{2,5}  # comment
//            escapes \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH
//   errors   invalid, GRAMMAR, with line, column and what to write
//   limits   kGbnfBytesMax, those of GrammarBuilder, Grammar::kStepsMax
//   source   llama.cpp, grammars/README.md
//   differs  a rule is defined once; "_" may stand in a name; no tokens by number (<[1000]>)
#pragma once

#include <string_view>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

inline constexpr std::size_t kGbnfBytesMax = 256u << 10;  // docs/reliability.md, Limits

Result<Grammar> parse_gbnf(std::string_view text);

}  // namespace satchel::runtime
