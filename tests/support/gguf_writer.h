// GgufWriter: makes small GGUF files for tests: valid ones and, through add_raw and the declare
// calls, forged ones.
//   example GgufWriter w;
//           w.add_string("general.architecture", "llama").add_u32("llama.block_count", 2);
//           w.add_tensor("output_norm.weight", {4}, std::vector<float>{1, 1, 1, 1});
//   needs   nothing is checked: what is asked for is written
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract/weight_type.h"

namespace satchel::tests {

class GgufWriter {
 public:
  // Metadata. Value type ids as in GGUF.
  GgufWriter& add_u8(std::string_view key, std::uint8_t value) { return add_number(key, 0, value); }
  GgufWriter& add_i8(std::string_view key, std::int8_t value) { return add_number(key, 1, value); }
  GgufWriter& add_u16(std::string_view key, std::uint16_t value) {
    return add_number(key, 2, value);
  }
  GgufWriter& add_i16(std::string_view key, std::int16_t value) {
    return add_number(key, 3, value);
  }
  GgufWriter& add_u32(std::string_view key, std::uint32_t value) {
    return add_number(key, 4, value);
  }
  GgufWriter& add_i32(std::string_view key, std::int32_t value) {
    return add_number(key, 5, value);
  }
  GgufWriter& add_f32(std::string_view key, float value) { return add_number(key, 6, value); }
  GgufWriter& add_bool(std::string_view key, bool value) {
    return add_number(key, 7, static_cast<std::uint8_t>(value ? 1 : 0));
  }
  GgufWriter& add_u64(std::string_view key, std::uint64_t value) {
    return add_number(key, 10, value);
  }
  GgufWriter& add_i64(std::string_view key, std::int64_t value) {
    return add_number(key, 11, value);
  }
  GgufWriter& add_f64(std::string_view key, double value) { return add_number(key, 12, value); }
  GgufWriter& add_string(std::string_view key, std::string_view value);
  GgufWriter& add_string_array(std::string_view key, std::span<const std::string> values);
  GgufWriter& add_f32_array(std::string_view key, std::span<const float> values) {
    return add_numbers(key, 6, values);
  }
  GgufWriter& add_f64_array(std::string_view key, std::span<const double> values) {
    return add_numbers(key, 12, values);
  }
  GgufWriter& add_i32_array(std::string_view key, std::span<const std::int32_t> values) {
    return add_numbers(key, 5, values);
  }
  GgufWriter& add_u8_array(std::string_view key, std::span<const std::uint8_t> values) {
    return add_numbers(key, 0, values);
  }
  // A value of any type id, its bytes as given.
  GgufWriter& add_raw(std::string_view key, std::uint32_t type_id,
                      std::span<const std::byte> value);

  // A tensor: dims with the row's length first, bytes as stored; laid end to end at the alignment.
  GgufWriter& add_tensor(std::string_view name, std::uint32_t type_id,
                         std::span<const std::uint64_t> dims, std::span<const std::byte> bytes);
  GgufWriter& add_tensor(std::string_view name, kernels::WeightType type,
                         std::initializer_list<std::uint64_t> dims,
                         std::span<const std::byte> bytes) {
    return add_tensor(name, static_cast<std::uint32_t>(type), std::span(dims.begin(), dims.size()),
                      bytes);
  }
  GgufWriter& add_tensor(std::string_view name, std::initializer_list<std::uint64_t> dims,
                         std::span<const float> values) {
    return add_tensor(name, kernels::WeightType::f32, dims, std::as_bytes(values));
  }
  // A table entry with any type id and any offset; adds no data.
  GgufWriter& declare_tensor(std::string_view name, std::uint32_t type_id,
                             std::span<const std::uint64_t> dims, std::uint64_t offset);

  // Also writes the key general.alignment. Call it before the first tensor.
  GgufWriter& alignment(std::uint32_t bytes);
  GgufWriter& version(std::uint32_t number);
  // Counts in the header other than what was added.
  GgufWriter& declare_counts(std::uint64_t n_tensors, std::uint64_t n_keys);

  std::vector<std::byte> bytes() const;
  // Writes the file anew; false if that failed.
  bool write(const std::filesystem::path& path) const;

 private:
  template <class T>
  GgufWriter& add_number(std::string_view key, std::uint32_t type_id, T value) {
    return add_raw(key, type_id, std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  GgufWriter& add_numbers(std::string_view key, std::uint32_t element_id,
                          std::span<const T> values) {
    return add_array(key, element_id, values.size(), std::as_bytes(values));
  }
  GgufWriter& add_array(std::string_view key, std::uint32_t element_id, std::uint64_t count,
                        std::span<const std::byte> elements);

  std::uint32_t version_ = 3;
  std::uint32_t alignment_ = 32;
  std::uint64_t n_keys_ = 0;
  std::uint64_t n_tensors_ = 0;
  std::vector<std::byte> metadata_;
  std::vector<std::byte> table_;
  std::vector<std::byte> data_;
};

// A valid file of about 6 kB: every value type, nested and empty arrays, a tensor of each weight
// type and one (IQ4_XS) that no backend computes with.
GgufWriter small_gguf();

}  // namespace satchel::tests
