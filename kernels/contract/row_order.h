// The storage order of a row of codes, and of the scales along the same axis. It matches the order
// in which the threads of a GPU matrix instruction need them. A dot product gives the same result
// if the other operand is permuted alike.
//   row     blocks of 128 entries; the last may be shorter (a multiple of 16, which at 2 bits is
//           one 32-bit word). A row is a whole number of words; 1-bit codes may need padding.
//   slots   slot s of a block of n holds entry 8·m + 2·t + h of the block, where
//           t = s / (n / 4), m = s % (n / 4) / 2, h = s % 2, for every number of bits
//   words   little-endian u32, filled slot by slot. The r-th slot of a word starts at bit
//           (r / 2) · bits + 16 · (r % 2) for 1, 2 and 4 bits, at bit 8 · r for 8 bits.
//   linkage always inlined in units for one instruction level: otherwise the linker might keep
//           the copy of another level
//   source  chosen; t is a thread's index in its quad for the operands of NVIDIA's mma.m16n8k16
//           (PTX ISA, "Matrix Fragments for mma.m16n8k16"), which hold entries 2t, 2t + 1 of
//           every 8
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace satchel::kernels {

inline constexpr std::size_t kRowBlock = 128;

// The entry of a row of n_entries stored in slot `slot`.
[[gnu::always_inline]] constexpr std::size_t entry_of_slot(std::size_t n_entries,
                                                           std::size_t slot) {
  const std::size_t first = slot / kRowBlock * kRowBlock;
  const std::size_t block = n_entries - first < kRowBlock ? n_entries - first : kRowBlock;
  const std::size_t in_block = slot - first, share = block / 4;
  return first + in_block % share / 2 * 8 + in_block / share * 2 + in_block % 2;
}

// The inverse.
constexpr std::size_t slot_of_entry(std::size_t n_entries, std::size_t entry) {
  const std::size_t first = entry / kRowBlock * kRowBlock;
  const std::size_t block = n_entries - first < kRowBlock ? n_entries - first : kRowBlock;
  const std::size_t in_block = entry - first;
  return first + in_block % 8 / 2 * (block / 4) + in_block / 8 * 2 + in_block % 2;
}

[[gnu::always_inline]] constexpr std::size_t row_bytes(std::size_t bits, std::size_t n_entries) {
  return (n_entries * bits + 31) / 32 * 4;
}

// Where a slot's code starts within its 32-bit word.
[[gnu::always_inline]] constexpr unsigned bit_of_slot(std::size_t bits, std::size_t slot) {
  const std::size_t in_word = slot % (32 / bits);
  return static_cast<unsigned>(bits == 8 ? 8 * in_word : in_word / 2 * bits + in_word % 2 * 16);
}

// One code of a packed row, by slot. `row` starts at a multiple of 4 bytes of the page.
inline unsigned read_code(const std::byte* row, std::size_t bits, std::size_t slot) {
  std::uint32_t word = 0;
  std::memcpy(&word, row + slot * bits / 32 * 4, sizeof word);
  return (word >> bit_of_slot(bits, slot)) & ((1u << bits) - 1);
}

// Writes a code to a row whose bits of this slot are still 0.
inline void put_code(std::byte* row, std::size_t bits, std::size_t slot, unsigned code) {
  std::uint32_t word = 0;
  std::memcpy(&word, row + slot * bits / 32 * 4, sizeof word);
  word |= code << bit_of_slot(bits, slot);
  std::memcpy(row + slot * bits / 32 * 4, &word, sizeof word);
}

}  // namespace satchel::kernels
