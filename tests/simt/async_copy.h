// Copies of a thread from device to shared memory that arrive when they are waited for, and not
// before: who reads what nobody waited for finds what was there.
//   source  PTX ISA 8.5, cp.async, its groups and cp.async.wait_group
#pragma once

#include <cstddef>

namespace simt {

void copy_async(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(std::size_t n_left);  // groups, of the latest; what is in none stays too

}  // namespace simt
