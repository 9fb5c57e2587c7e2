// GgufFile: an opened and fully checked model file. All results are views into the mapped file.
//   owns    the mappings (view() borrows); entries, tensors and strings live as long as the object
//   shards  opening any file of a split model (split.h) opens all of them, from the same folder.
//           Metadata come from the first, tensors and bytes from all.
//   errors  opening: those of parse.h and mapped_file.h, and MODEL_SHARD if shards are missing or
//           do not belong together;
//           getters: MODEL_METADATA, naming the key and the type found;
//           require_tensor: MODEL_METADATA, MODEL_QUANT
//   threads const calls from any thread
//   cost    opening reads the table (2 MB for a vocabulary of 100,000 tokens), not the weights
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/load_number.h"
#include "kernels/base/result.h"
#include "runtime/gguf/mapped_file.h"
#include "runtime/gguf/parse.h"

namespace satchel::runtime {

// The strings of an array, read in place.
class GgufStrings {
 public:
  // needs  an array of strings of an opened file, whose lengths were checked
  explicit GgufStrings(const GgufValue& array) : count_(array.count), bytes_(array.bytes) {}

  std::size_t size() const { return count_; }
  std::size_t bytes() const { return bytes_.size() - 8 * count_; }  // of all together
  template <class StringFn>
  void for_each(const StringFn& string) const {
    const std::byte* at = bytes_.data();
    for (std::size_t i = 0; i < count_; ++i) {
      const auto length = static_cast<std::size_t>(load_number<std::uint64_t>(at));
      string(std::string_view(reinterpret_cast<const char*>(at) + 8, length));
      at += 8 + length;
    }
  }

 private:
  std::size_t count_;
  std::span<const std::byte> bytes_;
};

class GgufFile {
 public:
  static Result<GgufFile> open(const std::filesystem::path& path);
  // Opens a whole model in memory; the bytes must outlive the object.
  static Result<GgufFile> view(std::span<const std::byte> bytes);

  std::uint32_t version() const { return table_.version; }
  std::size_t file_bytes() const;  // of all shards
  std::size_t n_parts() const { return parts_.size(); }
  std::span<const GgufEntry> metadata() const { return table_.entries; }
  std::span<const GgufTensor> tensors() const { return table_.tensors; }

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const GgufValue* find(std::string_view key) const {
    return table_.find_value(key);
  }  // null if absent
  const GgufTensor* find_tensor(std::string_view name) const { return table_.find_tensor(name); }
  // The tensor; an Error if it is missing or no backend supports its type. `type` has a value.
  Result<const GgufTensor*> require_tensor(std::string_view name) const;

  // Numbers. Integers may be stored in any width if the value fits; floats are finite. A missing
  // key gives `absent`, or an Error if that is not set.
  Result<std::uint32_t> get_u32(std::string_view key,
                                std::optional<std::uint32_t> absent = {}) const;
  Result<std::uint64_t> get_u64(std::string_view key,
                                std::optional<std::uint64_t> absent = {}) const;
  Result<float> get_f32(std::string_view key, std::optional<float> absent = {}) const;
  Result<bool> get_bool(std::string_view key, std::optional<bool> absent = {}) const;

  // The bytes as stored, possibly not UTF-8.
  Result<std::string_view> get_string(std::string_view key) const;
  Result<GgufStrings> get_strings(std::string_view key) const;
  Result<std::vector<float>> get_f32_array(std::string_view key) const;  // no NaN
  Result<std::vector<std::int32_t>> get_i32_array(
      std::string_view key) const;  // any integer width, if all fit
  Result<std::vector<bool>> get_bool_array(std::string_view key) const;

  // Identifies the model of a saved cache: xxh3-128 over the whole file, or over its shards in
  // order, as 32 hexadecimal digits. Reads every byte (94 MB: about 10 ms from memory), so call it
  // once. It detects other and damaged files, not forged ones. A stop is STOPPED.
  Result<std::string> model_fingerprint(const std::stop_token& stop = {}) const;

  // Fails with MODEL_CHANGED if a file was written since opening, with MODEL_READ if one could not
  // be read. Call before what was read from weights is used or saved.
  Result<void> check_unchanged() const;
  // Drops the pages of tensor bytes that will not be read soon from resident memory. The next
  // access reads the file again. Does nothing for view().
  void let_go(std::span<const std::byte> bytes) const;
  // Drops all pages, including those that readahead brought in outside of any tensor.
  void let_go() const;

 private:
  static Result<GgufFile> open_one(const std::filesystem::path& path);
  Result<void> add_parts(const std::filesystem::path& first, std::uint32_t count);

  std::vector<MappedFile> files_;                  // empty: view()
  std::vector<std::span<const std::byte>> parts_;  // empty for a default object only
  GgufTable table_;
};

}  // namespace satchel::runtime
