// The lines that say where a page of a document begins, "[Page 3]": those who make a text of pages
// write them (app/documents), and a quote's page is read from them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/index_range.h"

namespace satchel::runtime {

std::string page_mark(std::size_t page);  // without a line end

struct PageMark {
  IndexRange place;  // without the line end
  std::size_t page = 0;
};
// The first one from `from` on; a line that has only it.
std::optional<PageMark> next_page_mark(std::string_view text, std::size_t from);

}  // namespace satchel::runtime
