// How alike two lines are: 2 · M / T, M characters in matching blocks found as Ratcliff and
// Obershelp do (the longest, then left and right of it), T characters of both. Python's difflib.
// For this folder.
//   autojunk  as difflib: where b has 200 characters or more, those that make up more than 1 % of
//             it begin no block, though a block grows over them
//   cost      |a| · |b| for each block at worst: lines, not files
#pragma once

#include <string_view>

namespace satchel::eval::longbench {

double matching_ratio(std::u32string_view a, std::u32string_view b);

}  // namespace satchel::eval::longbench
