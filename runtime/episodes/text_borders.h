// Where a text may be cut. For document_parts.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kernels/base/index_range.h"

namespace satchel::runtime {

// The best first.
enum class Border {
  paragraph,  // behind a blank line
  line,       // behind a line end
  sentence,   // behind . ! ? … and what closes, before white space; behind 。！？ anywhere
  space,      // before white space
  character,  // not inside a CR LF or a character of UTF-8
};

// Whether the text has such a border before text[at].
//   needs  0 < at < text.size()
bool is_border(std::string_view text, std::size_t at, Border kind);

// The border in `where` nearest to `goal`, of the best kind that it holds; of two equally near the
// earlier.
//   needs  0 < where.begin <= goal < where.end <= text.size()
std::optional<std::size_t> nearest_border(std::string_view text, IndexRange where,
                                          std::size_t goal);

}  // namespace satchel::runtime
