#include "kernels/reference/host_memory.h"

#include <string>

#include "kernels/base/zeroed_memory.h"

namespace satchel::kernels::reference {

Result<Buffer> allocate_host(std::size_t bytes) {
  void* memory = zeroed_memory(256, bytes);
  if (memory == nullptr)
    return Error{ErrorKind::out_of_memory, "MEMORY",
                 "The system could not allocate " + std::to_string(bytes) +
                     " bytes of main memory. Close other programs, or choose a smaller limit."};
  return Buffer(static_cast<std::byte*>(memory), bytes,
                [bytes](std::byte* p) { free_zeroed_memory(p, bytes); });
}

}  // namespace satchel::kernels::reference
