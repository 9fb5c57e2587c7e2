// Guards mapped files against SIGBUS, which reading them raises where another process has cut the
// file off or the disk fails: the pages read as zeros then, and the file counts as faulted.
//   limits  256 mappings at a time; further ones are not guarded
//   threads any
//   source  systemd, src/basic/sigbus.c
#pragma once

#include <cstddef>

namespace satchel::runtime {

// For programs, once at their start: installs the handler. Libraries leave signals to their host.
// Faults outside of mappings go to the handler that was there before.
void guard_mappings();

// From mmap to munmap.
void enter_mapping(const void* memory, std::size_t bytes);
void leave_mapping(const void* memory);
bool has_faulted(const void* memory);

}  // namespace satchel::runtime
