#include "simt/async_copy.h"

#include <cstring>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/traffic.h"

namespace simt {

void copy_async(void* to, const void* from, std::size_t bytes) {
  set_place(__builtin_return_address(0));
  if (is_traffic_counted) {
    note_access(__builtin_return_address(0), from, bytes);
    note_access(__builtin_return_address(0), to, bytes);
  }
  check_access(from, bytes, Access::read);
  set_place(nullptr);
  Thread& thread = *current();
  PendingCopy copy{to, __builtin_return_address(0), thread.n_committed, bytes, {}};
  std::memcpy(copy.data.data(), from, bytes);
  thread.copies.push_back(copy);
}

void commit_copies() {
  ++current()->n_committed;
}

void wait_for_copies(std::size_t n_left) {
  Thread& thread = *current();
  auto copy = thread.copies.begin();
  for (; copy != thread.copies.end() && copy->group + n_left < thread.n_committed; ++copy) {
    set_place(copy->code);
    check_access(copy->to, copy->bytes, Access::write);
    set_place(nullptr);
    std::memcpy(copy->to, copy->data.data(), copy->bytes);
  }
  thread.copies.erase(thread.copies.begin(), copy);
}

}  // namespace simt
