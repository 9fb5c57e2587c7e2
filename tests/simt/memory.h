// Device memory as the executor has it: a range of addresses that the host cannot touch, out of
// which allocations come, each with space around it that belongs to nobody. Beside every byte
// stands who wrote it and who read it, in which block.
//   checks   an access lies within one living allocation; bytes that are read were written; two
//            blocks of a launch do not touch a byte that one of them writes, unless an atomic
//            operation behind a fence orders them (release by the writer, acquire by the reader)
//   limits   order between blocks is followed through atomics on one word at a time
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

// Null: there is no room. 256-byte aligned.
std::byte* allocate_device(std::size_t bytes);
bool release_device(std::byte* at);                 // false: no allocation begins there
bool is_device(const void* at, std::size_t bytes);  // within one allocation
std::size_t device_bytes_used();  // of the driver: whole steps, where memory is mapped
std::size_t device_bytes_held();  // by allocations alive, to the byte
inline constexpr std::size_t kDeviceBytes = std::size_t{1} << 30;  // that the card has

// Memory apart from addresses (include/cuda.h). What is mapped belongs to nobody until allocations
// are marked in it, by whoever hands it out.
std::byte* reserve_addresses(std::size_t bytes);  // null: there are none left
bool free_addresses(std::byte* at, std::size_t bytes);
bool map_memory(std::byte* at, std::size_t bytes);    // within addresses, not mapped yet
bool unmap_memory(std::byte* at, std::size_t bytes);  // as it was mapped
void begin_allocation(std::byte* at, std::size_t bytes);
void end_allocation(std::byte* at);

// While one lives, the host can touch device memory: a kernel runs, or a copy.
class DeviceIsOpen {
 public:
  DeviceIsOpen();
  ~DeviceIsOpen();
  DeviceIsOpen(const DeviceIsOpen&) = delete;
  DeviceIsOpen& operator=(const DeviceIsOpen&) = delete;
};
void mark_written(const std::byte* at, std::size_t bytes);  // by the host

void begin_launch_of_memory();
void begin_block_of_memory();

// Of the thread that runs. An access that must not be made stops the launch.
enum class Access { read, write, atomic };
void check_access(const void* at, std::size_t bytes, Access access);  // whatever memory it is
extern std::byte* const device_range;
inline constexpr std::size_t kDeviceRangeBytes = std::size_t{1} << 34;
inline bool is_in_device_range(const void* at) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(at) - device_range) <
         kDeviceRangeBytes;
}
// Defined for the sizes that hooks know, 1, 2, 4, 8 and 16, and for 0: `bytes` says how many.
template <std::size_t kBytes>
void check_device(const void* at, std::size_t bytes, Access access);
void fence();                          // __threadfence()
void order_by_atomic(const void* at);  // an atomic read-modify-write of the word there

}  // namespace simt
