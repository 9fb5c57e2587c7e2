// What the executor found wrong with a kernel. A kernel that does one of these may still give the
// right numbers, here and on a card; so a test asks for the findings as well as for the result.
#pragma once

#include <string>
#include <vector>

namespace simt {

struct Finding {
  enum class Kind {
    out_of_bounds,  // an address that belongs to no buffer, or no longer
    uninitialised,  // bytes that nobody has written
    shared_race,    // threads of a block at one byte of shared memory, one writes, unordered
    global_race,    // the same of blocks and device memory
    divergence,     // threads wait for others that never come
    misaligned,     // an address that is no multiple of the access's size: a card faults
    bad_operand,    // a lane, mask or launch that the hardware does not offer
  };
  Kind kind;
  std::string text;  // kernel, block, thread, what, and the line of the source where it is known
};

// The first kFindingsMax since the last call, which takes them away.
std::vector<Finding> take_findings();
inline constexpr std::size_t kFindingsMax = 16;

// Adds one, with the kernel, block and thread that run before its text.
void report(Finding::Kind kind, const std::string& text);
// Where in the code the access stands that is checked next: a return address of the kernel's.
extern const void* place_of_access;
inline void set_place(const void* code) {
  place_of_access = code;
}

}  // namespace simt
