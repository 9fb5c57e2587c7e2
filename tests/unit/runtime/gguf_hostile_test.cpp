// Damaged and forged files: refused with the code and the words of docs/reliability.md, Limits,
// never a crash, a hang or a large allocation. The fuzz target goes on from here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "fuzz/gguf_exercise.h"
#include "runtime/gguf/limits.h"
#include "support/gguf_writer.h"

namespace satchel::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::GgufWriter;
using tests::small_gguf;
using Bytes = std::vector<std::byte>;

// "[CODE] message", or "opened".
std::string outcome(const Bytes& bytes) {
  const auto file = GgufFile::view(bytes);
  if (file.ok()) return "opened";
  return "[" + file.error().code + "] " + file.error().message;
}
std::string outcome(const GgufWriter& writer) {
  return outcome(writer.bytes());
}

Bytes text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
void put_u32(Bytes& out, std::uint32_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}
void put_u64(Bytes& out, std::uint64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}
// Elements of one type: its id, a count, nothing.
Bytes array_head(std::uint32_t element, std::uint64_t count) {
  Bytes out;
  put_u32(out, element);
  put_u64(out, count);
  return out;
}
GgufWriter declared(std::initializer_list<std::uint64_t> dims, std::uint32_t type = 0,
                    std::uint64_t offset = 0) {
  GgufWriter out;
  out.declare_tensor("blk.3.ffn_up", type, {dims.begin(), dims.size()}, offset);
  return out;
}

// Opens and, where that works, uses a file that may be anything; checks what must hold of any
// outcome.
void expect_sane(const Bytes& bytes, const std::string& what) {
  const auto file = GgufFile::view(bytes);
  if (file.ok()) {
    (void)fuzz::use_everything(*file);
  } else {
    EXPECT_THAT(file.error().code, StartsWith("MODEL_")) << what;
    EXPECT_FALSE(file.error().message.empty()) << what;
  }
}

TEST(GgufHostile, no_truncation_opens) {
  const Bytes whole = small_gguf().bytes();
  ASSERT_EQ(outcome(whole), "opened");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(
                                                       length));  // exact size: ASan sees overreads
    EXPECT_THAT(outcome(cut), StartsWith("[MODEL_TRUNCATED] The file ends at ")) << length;
  }
}

TEST(GgufHostile, any_byte_may_have_any_of_three_other_values) {
  const Bytes whole = small_gguf().bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      expect_sane(changed, "byte " + std::to_string(at) + " ^ " + std::to_string(flip));
    }
  }
}

TEST(GgufHostile, any_eight_bytes_may_be_an_extreme_number) {
  const Bytes whole = small_gguf().bytes();
  for (const std::uint64_t value : {0ull, 1ull << 31, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 31}) {
    for (std::size_t at = 0; at + 8 <= whole.size(); ++at) {
      Bytes changed = whole;
      std::memcpy(changed.data() + at, &value, 8);
      expect_sane(changed, "bytes at " + std::to_string(at) + " = " + std::to_string(value));
    }
  }
}

TEST(GgufHostile, a_kilobyte_behind_the_end_changes_nothing) {
  Bytes longer = small_gguf().bytes();
  longer.resize(longer.size() + 1024);
  EXPECT_EQ(outcome(longer), "opened");
}

TEST(GgufHostile, other_files_are_named_by_what_they_look_like) {
  EXPECT_EQ(outcome(text_bytes("\x89PNG\r\n\x1a\n....")),
            "[MODEL_FORMAT] This is not a GGUF model; it starts like a PNG picture.");
  EXPECT_THAT(outcome(text_bytes(std::string_view("\x40\0\0\0\0\0\0\0{\"__metadata__\"", 23))),
              HasSubstr("safetensors"));
  EXPECT_THAT(outcome(text_bytes("PK\x03\x04....")), HasSubstr("zip archive"));
  EXPECT_THAT(outcome(text_bytes("<!DOCTYPE html>")), HasSubstr("web page"));
  EXPECT_THAT(outcome(text_bytes("version https://git-lfs.github.com")),
              HasSubstr("Git LFS pointer"));
  EXPECT_EQ(outcome(text_bytes("hello")), "[MODEL_FORMAT] This is not a GGUF model.");
  EXPECT_THAT(outcome(text_bytes("")), StartsWith("[MODEL_TRUNCATED]"));
}

TEST(GgufHostile, other_versions_are_told_apart) {
  EXPECT_EQ(outcome(GgufWriter().version(1)),
            "[MODEL_VERSION] This is GGUF version 1; Satchel reads versions 2 and 3. Convert the "
            "model again.");
  EXPECT_THAT(outcome(GgufWriter().version(4)), HasSubstr("GGUF version 4"));
  EXPECT_THAT(outcome(GgufWriter().version(0x03000000)), HasSubstr("big-endian"));
}

TEST(GgufHostile, counts_beyond_the_limits_are_refused_before_anything_is_allocated) {
  for (const std::uint64_t count :
       {GgufLimits::keys + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_THAT(outcome(GgufWriter().declare_counts(0, count)),
                HasSubstr("[MODEL_DAMAGED] The header's number of"));
  for (const std::uint64_t count :
       {GgufLimits::tensors + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_THAT(outcome(GgufWriter().declare_counts(count, 0)),
                HasSubstr("[MODEL_DAMAGED] The header's number of"));
  EXPECT_THAT(
      outcome(GgufWriter().declare_counts(GgufLimits::tensors, GgufLimits::keys)),
      HasSubstr("[MODEL_TRUNCATED] The file ends at 24 bytes, inside metadata key 1 of 4096"));
}

TEST(GgufHostile, lengths_of_strings_are_bounded_by_limit_and_file) {
  Bytes huge;
  put_u64(huge, std::uint64_t{1} << 63);
  EXPECT_THAT(outcome(GgufWriter().add_raw("k", 8, huge)),
              HasSubstr("[MODEL_DAMAGED] The length of"));
  Bytes past_end;
  put_u64(past_end, 1000);
  EXPECT_THAT(outcome(GgufWriter().add_raw("k", 8, past_end)),
              HasSubstr("inside the metadata value of \"k\""));
  EXPECT_THAT(outcome(GgufWriter().add_u8(std::string(257, 'k'), 0)), HasSubstr("MODEL_DAMAGED"));
  EXPECT_EQ(outcome(GgufWriter().add_u8(std::string(256, 'k'), 0)), "opened");
  EXPECT_THAT(outcome(GgufWriter().add_u8("", 0)),
              HasSubstr("[MODEL_DAMAGED] The name of metadata key 1 of 1 is empty"));
}

TEST(GgufHostile, arrays_are_bounded_by_limit_and_file) {
  EXPECT_THAT(outcome(GgufWriter().add_raw("k", 9, array_head(4, ~0ull))),
              HasSubstr("[MODEL_DAMAGED] The number of elem"));
  for (const std::uint32_t element : {0u, 4u, 8u, 9u, 12u})
    EXPECT_THAT(
        outcome(GgufWriter().add_raw("k", 9, array_head(element, GgufLimits::array_values))),
        HasSubstr("[MODEL_TRUNCATED]"))
        << element;
  EXPECT_THAT(outcome(GgufWriter().add_raw("k", 9, array_head(13, 0))),
              HasSubstr("is 13, but GGUF defines 0 to 12"));
  EXPECT_THAT(outcome(GgufWriter().add_raw("k", 99, {})),
              HasSubstr("is 99, but GGUF defines 0 to 12"));
}

TEST(GgufHostile, arrays_may_be_nested_only_so_deep) {
  const auto nested = [](int depth) {
    Bytes out;
    for (int i = 1; i < depth; ++i) {
      const Bytes head = array_head(9, 1);
      out.insert(out.end(), head.begin(), head.end());
    }
    const Bytes leaf = array_head(4, 0);
    out.insert(out.end(), leaf.begin(), leaf.end());
    return GgufWriter().add_raw("k", 9, out);
  };
  EXPECT_EQ(outcome(nested(GgufLimits::array_depth)), "opened");
  EXPECT_THAT(outcome(nested(GgufLimits::array_depth + 1)), HasSubstr("nested more than 4 deep"));
  EXPECT_THAT(outcome(nested(100000)), HasSubstr("nested more than 4 deep"));
}

TEST(GgufHostile, names_that_occur_twice_are_refused) {
  EXPECT_THAT(outcome(GgufWriter().add_u8("k", 1).add_u32("k", 2)),
              HasSubstr("Metadata key \"k\" occurs twice"));
  const float one = 1;
  EXPECT_THAT(outcome(GgufWriter()
                          .add_tensor("t", {1}, std::span(&one, 1))
                          .add_tensor("t", {1}, std::span(&one, 1))),
              HasSubstr("Tensor \"t\" occurs twice"));
}

TEST(GgufHostile, the_alignment_is_a_power_of_two_within_limits) {
  for (const std::uint32_t bad : {0u, 1u, 3u, 4u, 24u, 8192u, 1u << 31, ~0u})
    EXPECT_THAT(outcome(GgufWriter().add_u32("general.alignment", bad)),
                HasSubstr("[MODEL_DAMAGED] \"general.alignment\""))
        << bad;
  EXPECT_THAT(outcome(GgufWriter().add_string("general.alignment", "32")),
              HasSubstr("MODEL_DAMAGED"));
  EXPECT_THAT(outcome(GgufWriter().add_i32("general.alignment", -32)), HasSubstr("MODEL_DAMAGED"));
  const float one = 1;
  for (const std::uint32_t good : {8u, 64u, 4096u})
    EXPECT_EQ(outcome(GgufWriter().alignment(good).add_tensor("t", {1}, std::span(&one, 1))),
              "opened")
        << good;
}

TEST(GgufHostile, dimensions_whose_product_wraps_are_an_impossible_size) {
  constexpr std::uint64_t kMax = 1ull << 31;
  EXPECT_THAT(outcome(declared({kMax, kMax, kMax, kMax})),
              HasSubstr("Tensor \"blk.3.ffn_up\" declares an impossible size"));
  EXPECT_THAT(outcome(declared({kMax, kMax, 4})), HasSubstr("impossible size"));  // 2^64
  EXPECT_THAT(outcome(declared({kMax, kMax, 1}, 12)),
              HasSubstr("impossible size"));  // quantised variant
  EXPECT_THAT(outcome(declared({kMax + 1})), HasSubstr("[MODEL_DAMAGED] Dimension 0"));
  EXPECT_THAT(outcome(declared({4, 0})), HasSubstr("[MODEL_DAMAGED] Dimension 1"));
  EXPECT_THAT(outcome(declared({31}, 8)), HasSubstr("impossible size"));  // no whole block
  EXPECT_THAT(outcome(declared({})), HasSubstr("has 0 dimensions"));
  EXPECT_THAT(outcome(declared({1, 1, 1, 1, 1})), HasSubstr("has 5 dimensions"));
}

TEST(GgufHostile, a_file_too_short_for_its_sound_table_says_how_much_is_missing) {
  EXPECT_THAT(outcome(declared({1u << 30})),
              AllOf(HasSubstr("[MODEL_TRUNCATED] The file ends at "),
                    HasSubstr("its table needs 4.3 GB"), HasSubstr("download is incomplete")));
}

TEST(GgufHostile, offsets_that_lie_are_damage) {
  EXPECT_THAT(outcome(declared({4}, 0, 1u << 20)),
              HasSubstr("Tensor \"blk.3.ffn_up\" lies outside the file"));
  EXPECT_THAT(outcome(declared({4}, 0, ~0ull - 31)), HasSubstr("lies outside the file"));
  EXPECT_THAT(outcome(declared({4}, 0, 1ull << 63)), HasSubstr("lies outside the file"));
  EXPECT_THAT(outcome(declared({4}, 0, 33)), HasSubstr("not a multiple of 32"));
}

TEST(GgufHostile, tensors_share_no_byte) {
  const std::vector<float> values(64);
  GgufWriter writer;
  writer.add_tensor("a", {64}, values);
  const std::uint64_t dim = 8;
  writer.declare_tensor("b", 0, std::span(&dim, 1), 32);
  EXPECT_THAT(outcome(writer), HasSubstr("Tensors \"a\" and \"b\" share bytes"));
}

TEST(GgufHostile, a_type_id_that_ggml_lacks_is_named) {
  for (const std::uint32_t id : {4u, 5u, 31u, 42u, ~0u})
    EXPECT_THAT(outcome(declared({256}, id)),
                HasSubstr("[MODEL_QUANT] Tensor \"blk.3.ffn_up\" has weight type"))
        << id;
}

TEST(GgufHostile, names_from_the_file_cannot_write_to_the_terminal) {
  EXPECT_THAT(outcome(GgufWriter().add_u8("\x1b]0;gone\x07", 0).add_u8("\x1b]0;gone\x07", 0)),
              HasSubstr("\"\\x1b]0;gone\\x07\" occurs twice"));
}

}  // namespace
}  // namespace satchel::runtime
