#include "kernels/contract/row_order.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace satchel::kernels {
namespace {

std::vector<std::byte> pack(const std::vector<unsigned>& codes, std::size_t bits) {
  std::vector<std::byte> row(row_bytes(bits, codes.size()));
  for (std::size_t e = 0; e < codes.size(); ++e)
    put_code(row.data(), bits, slot_of_entry(codes.size(), e), codes[e]);
  return row;
}

std::uint32_t word(const std::vector<std::byte>& row, std::size_t i) {
  std::uint32_t out = 0;
  std::memcpy(&out, row.data() + 4 * i, 4);
  return out;
}

TEST(RowOrder, the_golden_word_of_a_4_bit_row) {
  std::vector<unsigned> codes(128);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<unsigned>(i % 16);
  EXPECT_EQ(word(pack(codes, 4), 0), 0x91918080u);
}

TEST(RowOrder, the_first_word_holds_the_entries_the_specification_lists) {
  const std::array<std::size_t, 8> four = {0, 8, 16, 24, 1, 9, 17, 25};
  for (std::size_t n = 0; n < 8; ++n) {
    std::vector<unsigned> codes(128, 0);
    codes[four[n]] = 15;
    EXPECT_EQ(word(pack(codes, 4), 0), 15u << (4 * n)) << n;
  }
  const std::array<std::size_t, 4> eight = {0, 1, 8, 9};
  for (std::size_t n = 0; n < 4; ++n) {
    std::vector<unsigned> codes(64, 0);
    codes[eight[n]] = 255;
    EXPECT_EQ(word(pack(codes, 8), 0), 255u << (8 * n)) << n;
  }
  std::vector<unsigned> two(64, 0);
  two[56] = 3;  // s = 3, + 8: pair 7 of thread 0
  two[1] = 2;
  EXPECT_EQ(word(pack(two, 2), 0), (3u << 14) | (2u << 16));
  std::vector<unsigned> one(32, 0);  // a row of a page of 32: one word
  one[8] = 1;                        // pair 1 of thread 0
  one[7] = 1;                        // the second of pair 0 of thread 3, whose slots begin at 24
  EXPECT_EQ(pack(one, 1).size(), 4u);
  EXPECT_EQ(word(pack(one, 1), 0), (1u << 1) | (1u << (12 + 16)));
}

TEST(RowOrder, slots_and_entries_are_inverse_and_codes_come_back) {
  for (const std::size_t n :
       {16u, 32u, 48u, 64u, 80u, 96u, 112u, 128u, 144u, 160u, 192u, 208u, 256u}) {
    std::vector<bool> met(n, false);
    for (std::size_t s = 0; s < n; ++s) {
      const std::size_t e = entry_of_slot(n, s);
      ASSERT_LT(e, n);
      EXPECT_FALSE(met[e]);
      met[e] = true;
      EXPECT_EQ(slot_of_entry(n, e), s);
    }
    for (const std::size_t bits : {1u, 2u, 4u, 8u}) {
      std::vector<unsigned> codes(n);
      for (std::size_t i = 0; i < n; ++i)
        codes[i] = static_cast<unsigned>(i * 7 + i / 3) & ((1u << bits) - 1);
      const auto row = pack(codes, bits);
      for (std::size_t e = 0; e < n; ++e)
        EXPECT_EQ(read_code(row.data(), bits, slot_of_entry(n, e)), codes[e]) << n << " " << e;
    }
  }
}

}  // namespace
}  // namespace satchel::kernels
