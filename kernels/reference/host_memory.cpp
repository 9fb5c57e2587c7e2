#include "kernels/reference/host_memory.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace satchel::kernels::reference {

Result<Buffer> allocate_host(std::size_t bytes) {
  constexpr std::size_t kAlign = 256;
  const std::size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  void* memory =
      rounded < bytes ? nullptr : std::aligned_alloc(kAlign, rounded == 0 ? kAlign : rounded);
  if (memory == nullptr)
    return Error{ErrorKind::out_of_memory, "MEMORY",
                 "The machine refused " + std::to_string(bytes) + " bytes of main memory."};
  std::memset(memory, 0, rounded);
  return Buffer(static_cast<std::byte*>(memory), bytes, [](std::byte* p) { std::free(p); });
}

}  // namespace satchel::kernels::reference
