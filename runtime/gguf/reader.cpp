#include "runtime/gguf/reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/gguf/number.h"

namespace satchel::runtime {
namespace {

Error metadata_error(std::string message) {
  return {ErrorKind::corrupt, "MODEL_METADATA", std::move(message)};
}
Error lacks(std::string_view key) {
  return metadata_error("The model lacks " + quoted(key, 256) + ".");
}
Error wrong_type(std::string_view key, const GgufValue& found, const char* expected) {
  return metadata_error(quoted(key, 256) + " is " + type_text(found) + ", " + expected +
                        " expected.");
}
Error wrong_value(std::string_view key, const GgufValue& found, const char* expected) {
  return metadata_error(quoted(key, 256) + " is " + describe(found) + ", " + expected +
                        " expected.");
}

bool is_integer(GgufType type) {
  return type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean &&
         type != GgufType::string && type != GgufType::array;
}

float load_float(GgufType type, const std::byte* at) {
  return type == GgufType::f64 ? static_cast<float>(load_number<double>(at))
                               : load_number<float>(at);
}

Result<std::uint64_t> unsigned_at_most(std::string_view key, const GgufValue& found,
                                       std::uint64_t max) {
  if (!is_integer(found.type)) return wrong_type(key, found, "an integer");
  std::uint64_t value = 0;
  if (found.type == GgufType::u64) {
    value = load_number<std::uint64_t>(found.bytes.data());
  } else {
    const std::int64_t number = load_integer(found.type, found.bytes.data()).value_or(-1);
    if (number < 0) return wrong_value(key, found, "no negative number");
    value = static_cast<std::uint64_t>(number);
  }
  if (value > max) return wrong_value(key, found, "a smaller number");
  return value;
}

Result<const GgufValue*> array_of(const GgufFile& file, std::string_view key) {
  const GgufValue* found = file.find(key);
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::array) return wrong_type(key, *found, "an array");
  return found;
}

}  // namespace

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes) {
  GgufFile out;
  out.bytes_ = bytes;
  SATCHEL_TRY_ASSIGN(out.table_, parse_gguf(bytes));
  SATCHEL_TRY(out.check_whole());
  return out;
}

Result<GgufFile> GgufFile::view(std::span<const std::byte> bytes) {
  return parse(bytes);
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  SATCHEL_TRY_ASSIGN(MappedFile file, MappedFile::open(path));
  Result<GgufFile> out = parse(file.bytes());
  if (!out.ok()) {
    Error error = std::move(out).error();
    error.message = quoted(path.filename().string(), 128) + ": " + error.message;
    return error;
  }
  out->file_ = std::move(file);
  return out;
}

Result<void> GgufFile::check_whole() const {
  SATCHEL_TRY_ASSIGN(const std::uint32_t parts, get_u32("split.count", 1u));
  if (parts <= 1) return {};
  SATCHEL_TRY_ASSIGN(const std::uint64_t part, get_u64("split.no", 0u));
  const std::string number = part < parts ? std::to_string(part + 1) : "?";
  return Error{ErrorKind::unsupported, "MODEL_SHARD",
               "Part " + number + " of " + std::to_string(parts) +
                   "; Satchel reads a model from one file. Join the parts first (llama-gguf-split "
                   "--merge)."};
}

Result<const GgufTensor*> GgufFile::require_tensor(std::string_view name) const {
  const GgufTensor* tensor = find_tensor(name);
  if (tensor == nullptr)
    return metadata_error("The model lacks the tensor " + quoted(name, 256) + ".");
  if (!tensor->type)
    return Error{ErrorKind::unsupported, "MODEL_QUANT",
                 std::string(tensor->type_name) + " (tensor " + quoted(name, 256) +
                     ") is not supported; choose a Q4_K_M or Q8_0 file of this model."};
  return tensor;
}

Result<std::uint32_t> GgufFile::get_u32(std::string_view key,
                                        std::optional<std::uint32_t> absent) const {
  SATCHEL_TRY_ASSIGN(const std::uint64_t value, [&]() -> Result<std::uint64_t> {
    const GgufValue* found = find(key);
    if (found != nullptr)
      return unsigned_at_most(key, *found, std::numeric_limits<std::uint32_t>::max());
    if (absent) return std::uint64_t{*absent};
    return lacks(key);
  }());
  return static_cast<std::uint32_t>(value);
}

Result<std::uint64_t> GgufFile::get_u64(std::string_view key,
                                        std::optional<std::uint64_t> absent) const {
  const GgufValue* found = find(key);
  if (found != nullptr)
    return unsigned_at_most(key, *found, std::numeric_limits<std::uint64_t>::max());
  if (absent) return *absent;
  return lacks(key);
}

Result<float> GgufFile::get_f32(std::string_view key, std::optional<float> absent) const {
  const GgufValue* found = find(key);
  if (found == nullptr && absent) return *absent;
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::f32 && found->type != GgufType::f64)
    return wrong_type(key, *found, "float32");
  const float value = load_float(found->type, found->bytes.data());
  if (!std::isfinite(value)) return wrong_value(key, *found, "a finite float32");
  return value;
}

Result<bool> GgufFile::get_bool(std::string_view key, std::optional<bool> absent) const {
  const GgufValue* found = find(key);
  if (found == nullptr && absent) return *absent;
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::boolean) return wrong_type(key, *found, "bool");
  return load_number<std::uint8_t>(found->bytes.data()) != 0;
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  const GgufValue* found = find(key);
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::string) return wrong_type(key, *found, "string");
  return std::string_view(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
}

Result<std::vector<std::string_view>> GgufFile::get_string_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (found->element != GgufType::string) return wrong_type(key, *found, "array of string");
  std::vector<std::string_view> out(found->count);
  const std::byte* at = found->bytes.data();
  for (std::string_view& element : out) {
    const auto length = static_cast<std::size_t>(load_number<std::uint64_t>(at));
    element = {reinterpret_cast<const char*>(at) + 8, length};
    at += 8 + length;
  }
  return out;
}

Result<std::vector<float>> GgufFile::get_f32_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (found->element != GgufType::f32 && found->element != GgufType::f64)
    return wrong_type(key, *found, "array of float32");
  std::vector<float> out(found->count);
  const std::size_t each = gguf_fixed_bytes(found->element);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_float(found->element, found->bytes.data() + i * each);
    if (std::isnan(out[i]))
      return metadata_error("Element " + std::to_string(i) + " of " + quoted(key, 256) +
                            " is not a number.");
  }
  return out;
}

Result<std::vector<std::int32_t>> GgufFile::get_i32_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (!is_integer(found->element)) return wrong_type(key, *found, "array of integers");
  std::vector<std::int32_t> out(found->count);
  const std::size_t each = gguf_fixed_bytes(found->element);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = load_integer(found->element, found->bytes.data() + i * each);
    if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
        *value > std::numeric_limits<std::int32_t>::max())
      return metadata_error("Element " + std::to_string(i) + " of " + quoted(key, 256) +
                            " does not fit into i32.");
    out[i] = static_cast<std::int32_t>(*value);
  }
  return out;
}

Result<std::string> GgufFile::model_fingerprint() const {
  SATCHEL_TRY(check_unchanged());
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string(text);
}

}  // namespace satchel::runtime
