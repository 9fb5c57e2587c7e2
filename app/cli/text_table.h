// Tables for people: columns as wide as what stands in them, two blanks between. And paragraphs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace satchel::app {

using Cells = std::vector<std::string>;
// The first column is flush left, the others right. A row may have fewer cells.
std::string aligned(const std::vector<Cells>& rows);

// A paragraph of at most 96 columns, broken at blanks, each line behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent);

std::string short_percent(double share);  // "25 %", "38.4 %"
// "1,234", "0.0031", "12.5": three digits that say something.
std::string short_number(double value);

}  // namespace satchel::app
