#include "runtime/gguf/reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/gguf/number.h"
#include "runtime/gguf/split.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kReadAtOnce = 16u << 20;  // chosen: little beside any model

Error metadata_error(std::string message) {
  return {ErrorKind::corrupt, "MODEL_METADATA", std::move(message)};
}
Error shard_error(std::string message) {
  return {ErrorKind::corrupt, "MODEL_SHARD", std::move(message)};
}
// Why a part could not be opened: one that is not there, in terms of the whole model.
Error of_part(const Error& error, const SplitName& name, std::uint32_t number) {
  if (error.kind != ErrorKind::not_found) return error;
  return shard_error("The model is split into " + std::to_string(name.count) + " files, and " +
                     quoted(name.part(number).filename().string(), 128) +
                     " is missing. Put all of them into one folder.");
}
Error lacks(std::string_view key) {
  return metadata_error("The model file lacks " + quoted(key, 256) + ".");
}
Error wrong_type(std::string_view key, const GgufValue& found, const char* expected) {
  return metadata_error(quoted(key, 256) + " is " + type_text(found) + ", but must be " + expected +
                        ".");
}
Error wrong_value(std::string_view key, const GgufValue& found, const char* expected) {
  return metadata_error(quoted(key, 256) + " is " + describe(found) + ", but must be " + expected +
                        ".");
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
    if (number < 0) return wrong_value(key, found, "zero or more");
    value = static_cast<std::uint64_t>(number);
  }
  if (value > max) return wrong_value(key, found, "smaller");
  return value;
}

// What `read` makes of the value; `absent`, if there is one, where the file lacks it.
template <class T, class Read>
Result<T> value_of(const GgufFile& file, std::string_view key, const std::optional<T>& absent,
                   const Read& read) {
  if (const GgufValue* found = file.find(key)) return read(*found);
  if (absent) return *absent;
  return lacks(key);
}

Result<const GgufValue*> array_of(const GgufFile& file, std::string_view key) {
  const GgufValue* found = file.find(key);
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::array) return wrong_type(key, *found, "an array");
  return found;
}

}  // namespace

Result<GgufFile> GgufFile::view(std::span<const std::byte> bytes) {
  GgufFile out;
  out.parts_ = {bytes};
  SATCHEL_TRY_ASSIGN(out.table_, parse_gguf(bytes));
  const SplitPlace place = split_place(out.table_);
  if (place.count > 1)
    return shard_error("These bytes are shard " + std::to_string(place.number) + " of " +
                       std::to_string(place.count) + "; the whole model is needed.");
  return out;
}

Result<GgufFile> GgufFile::open_one(const std::filesystem::path& path) {
  SATCHEL_TRY_ASSIGN(MappedFile file, MappedFile::open(path));
  GgufFile out;
  Result<GgufTable> table = parse_gguf(file.bytes());
  if (!table.ok()) {
    Error error = std::move(table).error();
    error.message = quoted(path.filename().string(), 128) + ": " + error.message;
    return error;
  }
  out.table_ = std::move(table).value();
  out.parts_ = {file.bytes()};
  out.files_.push_back(std::move(file));
  return out;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  SATCHEL_TRY_ASSIGN(GgufFile out, open_one(path));
  const SplitPlace place = split_place(out.table_);
  if (place.count <= 1) return out;
  const std::string file = quoted(path.filename().string(), 128);
  const std::optional<SplitName> name = split_name(path);
  if (!name || name->number != place.number || name->count != place.count)
    return shard_error(file + " is shard " + std::to_string(place.number) + " of " +
                       std::to_string(place.count) +
                       ", but its name does not say so. Restore the " +
                       "original names: NAME-00001-of-0000N.gguf and so on.");
  if (place.number != 1) {
    Result<GgufFile> opened = open_one(name->part(1));
    if (!opened.ok()) return of_part(opened.error(), *name, 1);
    out = std::move(opened).value();
    if (const SplitPlace first = split_place(out.table_);
        first.number != 1 || first.count != place.count)
      return shard_error("The first shard in the folder of " + file +
                         " belongs to another model. Get the shards again.");
  }
  SATCHEL_TRY(out.add_parts(name->part(1), place.count));
  return out;
}

Result<void> GgufFile::add_parts(const std::filesystem::path& first, std::uint32_t count) {
  const SplitName name = *split_name(first);
  for (std::uint32_t number = 2; number <= count; ++number) {
    Result<GgufFile> part = open_one(name.part(number));
    if (!part.ok()) return of_part(part.error(), name, number);
    const SplitPlace place = split_place(part->table_);
    if (place.number != number || place.count != count)
      return shard_error(quoted(name.part(number).filename().string(), 128) +
                         " says that it is shard " + std::to_string(place.number) + " of " +
                         std::to_string(place.count) + ". Get the shards again.");
    SATCHEL_TRY(add_tensors_of(part->table_, table_));
    parts_.push_back(part->parts_.front());
    files_.push_back(std::move(part->files_.front()));
  }
  SATCHEL_TRY_ASSIGN(const std::uint64_t declared,
                     get_u64("split.tensors.count", table_.tensors.size()));
  if (declared == table_.tensors.size()) return {};
  return shard_error("The shards contain " + std::to_string(table_.tensors.size()) + " of the " +
                     std::to_string(declared) + " tensors. Get the shards again.");
}

std::size_t GgufFile::file_bytes() const {
  std::size_t bytes = 0;
  for (const std::span<const std::byte> part : parts_) bytes += part.size();
  return bytes;
}

Result<void> GgufFile::check_unchanged() const {
  for (const MappedFile& file : files_) SATCHEL_TRY(file.check_unchanged());
  return {};
}

void GgufFile::let_go(std::span<const std::byte> bytes) const {
  for (const MappedFile& file : files_) file.let_go(bytes);  // which leaves others' bytes alone
}

void GgufFile::let_go() const {
  for (const MappedFile& file : files_) file.let_go(file.bytes());
}

Result<const GgufTensor*> GgufFile::require_tensor(std::string_view name) const {
  const GgufTensor* tensor = find_tensor(name);
  if (tensor == nullptr)
    return metadata_error("The model file lacks the tensor " + quoted(name, 256) + ".");
  if (!tensor->type)
    return Error{ErrorKind::unsupported, "MODEL_QUANT",
                 std::string(tensor->type_name) + " (tensor " + quoted(name, 256) +
                     ") is not supported. Choose a Q4_K_M or Q8_0 file of this model."};
  return tensor;
}

Result<std::uint32_t> GgufFile::get_u32(std::string_view key,
                                        std::optional<std::uint32_t> absent) const {
  return value_of(*this, key, absent, [&](const GgufValue& found) -> Result<std::uint32_t> {
    SATCHEL_TRY_ASSIGN(const std::uint64_t value, unsigned_at_most(key, found, UINT32_MAX));
    return static_cast<std::uint32_t>(value);
  });
}

Result<std::uint64_t> GgufFile::get_u64(std::string_view key,
                                        std::optional<std::uint64_t> absent) const {
  return value_of(*this, key, absent,
                  [&](const GgufValue& found) { return unsigned_at_most(key, found, UINT64_MAX); });
}

Result<float> GgufFile::get_f32(std::string_view key, std::optional<float> absent) const {
  return value_of(*this, key, absent, [&](const GgufValue& found) -> Result<float> {
    if (found.type != GgufType::f32 && found.type != GgufType::f64)
      return wrong_type(key, found, "float32");
    const float value = load_float(found.type, found.bytes.data());
    if (!std::isfinite(value)) return wrong_value(key, found, "a finite float32");
    return value;
  });
}

Result<bool> GgufFile::get_bool(std::string_view key, std::optional<bool> absent) const {
  return value_of(*this, key, absent, [&](const GgufValue& found) -> Result<bool> {
    if (found.type != GgufType::boolean) return wrong_type(key, found, "bool");
    return load_number<std::uint8_t>(found.bytes.data()) != 0;
  });
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  const GgufValue* found = find(key);
  if (found == nullptr) return lacks(key);
  if (found->type != GgufType::string) return wrong_type(key, *found, "string");
  return std::string_view(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
}

Result<GgufStrings> GgufFile::get_strings(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (found->element != GgufType::string) return wrong_type(key, *found, "an array of strings");
  return GgufStrings(*found);
}

Result<std::vector<float>> GgufFile::get_f32_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (found->element != GgufType::f32 && found->element != GgufType::f64)
    return wrong_type(key, *found, "an array of float32");
  std::vector<float> out(found->count);
  const std::size_t each = gguf_fixed_bytes(found->element);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_float(found->element, found->bytes.data() + i * each);
    if (std::isnan(out[i]))
      return metadata_error("Element " + std::to_string(i) + " of " + quoted(key, 256) +
                            " is NaN.");
  }
  return out;
}

Result<std::vector<std::int32_t>> GgufFile::get_i32_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (!is_integer(found->element)) return wrong_type(key, *found, "an array of integers");
  std::vector<std::int32_t> out(found->count);
  const std::size_t each = gguf_fixed_bytes(found->element);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = load_integer(found->element, found->bytes.data() + i * each);
    if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
        *value > std::numeric_limits<std::int32_t>::max())
      return metadata_error("Element " + std::to_string(i) + " of " + quoted(key, 256) +
                            " does not fit into int32.");
    out[i] = static_cast<std::int32_t>(*value);
  }
  return out;
}

Result<std::vector<bool>> GgufFile::get_bool_array(std::string_view key) const {
  SATCHEL_TRY_ASSIGN(const GgufValue* found, array_of(*this, key));
  if (found->element != GgufType::boolean) return wrong_type(key, *found, "an array of booleans");
  std::vector<bool> out;
  for (const std::byte each : found->bytes.first(found->count)) out.push_back(each != std::byte{0});
  return out;
}

Result<std::string> GgufFile::model_fingerprint(const std::stop_token& stop) const {
  SATCHEL_TRY(check_unchanged());
  XXH3_state_t state;
  (void)XXH3_128bits_reset(&state);  // fails for null only, as update does
  for (const std::span<const std::byte> part : parts_)
    for (std::size_t at = 0; at < part.size(); at += kReadAtOnce) {
      if (stop.stop_requested())
        return Error{ErrorKind::cancelled, "STOPPED", "Stopped. The model is not loaded."};
      const auto piece = part.subspan(at, std::min(kReadAtOnce, part.size() - at));
      (void)XXH3_128bits_update(&state, piece.data(), piece.size());
      let_go(piece);  // else the whole file would count beside what is made of it
    }
  SATCHEL_TRY(check_unchanged());  // the hash is that of what was loaded before, too
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string(text);
}

}  // namespace satchel::runtime
