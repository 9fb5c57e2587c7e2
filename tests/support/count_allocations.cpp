#include "support/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> count{0};
thread_local std::size_t n_until_failure = 0;  // 0: none fails

bool fails() {
  count.fetch_add(1, std::memory_order_relaxed);
  return n_until_failure != 0 && --n_until_failure == 0;
}
void* take(std::size_t bytes) {
  if (fails()) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* take(std::size_t bytes, std::align_val_t align) {
  if (fails()) return nullptr;
  const auto unit = static_cast<std::size_t>(align);
  return std::aligned_alloc(unit, (bytes + unit) / unit * unit);
}
void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// All forms, since std::stable_sort for one takes from the nothrow one and gives to the plain one.

void* operator new(std::size_t bytes) {
  return or_throw(take(bytes));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return or_throw(take(bytes, align));
}
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return take(bytes, align);
}
void* operator new[](std::size_t bytes) {
  return or_throw(take(bytes));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes);
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return or_throw(take(bytes, align));
}
void* operator new[](std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return take(bytes, align);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace satchel::test {

std::size_t allocations_so_far() {
  return count.load(std::memory_order_relaxed);
}

FailingAllocation::FailingAllocation(std::size_t n) {
  n_until_failure = n + 1;
}
FailingAllocation::~FailingAllocation() {
  n_until_failure = 0;
}

}  // namespace satchel::test
