#include "runtime/gguf/parse.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "kernels/base/checked.h"
#include "kernels/base/size_text.h"
#include "runtime/gguf/limits.h"
#include "runtime/gguf/magic.h"
#include "runtime/gguf/number.h"
#include "runtime/gguf/tensor_layout.h"
#include "runtime/gguf/tensor_type.h"

namespace satchel::runtime {
namespace {

std::string beyond(const std::string& what, std::uint64_t declared, std::uint64_t limit) {
  return what + " " + count_text(declared) + ", more than the limit of " + count_text(limit);
}

// Reads on from one place; knows what it is in the middle of, for the message when the file ends
// there.
class Parser {
 public:
  explicit Parser(std::span<const std::byte> file) : file_(file) {}
  Result<GgufTable> run();

 private:
  Result<void> header();
  Result<void> metadata();
  Result<GgufValue> value(GgufType type);
  Result<GgufValue> array();
  Result<void> skip_elements(GgufType element, std::uint64_t count, int depth);
  Result<std::uint64_t> array_head(GgufType& element);
  Result<GgufType> value_type();
  Result<void> alignment();
  Result<void> tensors();
  Result<GgufTensor> tensor(std::uint64_t& offset);
  Result<std::string_view> text(const std::string& what, std::uint64_t bytes_max);

  std::size_t left() const { return file_.size() - at_; }
  Error ends_here() const;
  template <class T>
  Result<T> number() {
    if (left() < sizeof(T)) return ends_here();
    const T out = load_number<T>(file_.data() + at_);
    at_ += sizeof(T);
    return out;
  }

  std::span<const std::byte> file_;
  std::size_t at_ = 0;
  std::string inside_ = "its header";
  std::uint64_t n_tensors_ = 0;
  std::uint64_t n_entries_ = 0;
  GgufTable table_;
};

// Positions of `items` in the order of their names; the Error names one that occurs twice.
template <class Item, class Name>
Result<std::vector<std::uint32_t>> sorted_by(const std::vector<Item>& items, Name name_of,
                                             const char* what) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return name_of(items[a]) < name_of(items[b]);
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (name_of(items[order[i - 1]]) == name_of(items[order[i]]))
      return damaged_file(std::string(what) + " " + quoted(name_of(items[order[i]])) +
                          " occurs twice");
  return order;
}

std::string_view key_of(const GgufEntry& entry) {
  return entry.key;
}
std::string_view name_of(const GgufTensor& tensor) {
  return tensor.name;
}

Error Parser::ends_here() const {
  return {ErrorKind::corrupt, "MODEL_TRUNCATED",
          "The file ends at " + size_text(file_.size()) + ", inside " + inside_ +
              ". The download is incomplete or the file is damaged; get it again."};
}

Result<GgufTable> Parser::run() {
  SATCHEL_TRY(header());
  SATCHEL_TRY(metadata());
  SATCHEL_TRY_ASSIGN(table_.by_key, sorted_by(table_.entries, key_of, "Metadata key"));
  SATCHEL_TRY(alignment());
  SATCHEL_TRY(tensors());
  SATCHEL_TRY_ASSIGN(table_.by_name, sorted_by(table_.tensors, name_of, "Tensor"));
  return std::move(table_);
}

Result<void> Parser::header() {
  constexpr std::string_view kMagic = "GGUF";
  const std::string_view start(reinterpret_cast<const char*>(file_.data()),
                               std::min<std::size_t>(file_.size(), 4));
  if (start.size() < 4 && kMagic.starts_with(start)) return ends_here();
  if (start != kMagic) {
    const std::string_view guess =
        guess_format(file_.first(std::min<std::size_t>(file_.size(), 64)));
    return Error{
        ErrorKind::corrupt, "MODEL_FORMAT",
        "This is not a GGUF model" +
            (guess.empty() ? std::string(".") : "; it starts like " + std::string(guess) + ".")};
  }
  at_ = 4;
  SATCHEL_TRY_ASSIGN(table_.version, number<std::uint32_t>());
  if (table_.version != 2 && table_.version != 3) {
    const bool big_endian = table_.version != 0 && (table_.version & 0xffffu) == 0;
    return Error{
        ErrorKind::unsupported, "MODEL_VERSION",
        (big_endian ? std::string(
                          "This is a big-endian GGUF file; Satchel reads little-endian files only.")
                    : "This is GGUF version " + std::to_string(table_.version) +
                          "; Satchel reads versions 2 and 3.") +
            " Convert the model again."};
  }
  SATCHEL_TRY_ASSIGN(n_tensors_, number<std::uint64_t>());
  SATCHEL_TRY_ASSIGN(n_entries_, number<std::uint64_t>());
  if (n_tensors_ > GgufLimits::tensors)
    return damaged_file(
        beyond("The header's number of tensors is", n_tensors_, GgufLimits::tensors));
  if (n_entries_ > GgufLimits::keys)
    return damaged_file(
        beyond("The header's number of metadata keys is", n_entries_, GgufLimits::keys));
  return {};
}

Result<std::string_view> Parser::text(const std::string& what, std::uint64_t bytes_max) {
  SATCHEL_TRY_ASSIGN(const std::uint64_t length, number<std::uint64_t>());
  if (length > bytes_max)
    return damaged_file(beyond("The length of " + what + " is", length, bytes_max));
  if (length > left()) return ends_here();
  const std::string_view out(reinterpret_cast<const char*>(file_.data() + at_),
                             static_cast<std::size_t>(length));
  at_ += out.size();
  return out;
}

Result<GgufType> Parser::value_type() {
  SATCHEL_TRY_ASSIGN(const std::uint32_t id, number<std::uint32_t>());
  const std::optional<GgufType> type = gguf_type_of(id);
  if (!type)
    return damaged_file("The value type in " + inside_ + " is " + std::to_string(id) +
                        ", but GGUF defines 0 to 12 only");
  return *type;
}

Result<void> Parser::metadata() {
  constexpr std::size_t kEntryBytesMin = 8 + 1 + 4 + 1;
  table_.entries.reserve(std::min<std::size_t>(n_entries_, left() / kEntryBytesMin));
  for (std::uint64_t i = 0; i < n_entries_; ++i) {
    inside_ = "metadata key " + std::to_string(i + 1) + " of " + std::to_string(n_entries_);
    SATCHEL_TRY_ASSIGN(const std::string_view key, text(inside_, GgufLimits::key_bytes));
    if (key.empty()) return damaged_file("The name of " + inside_ + " is empty");
    inside_ = "the metadata value of " + quoted(key);
    SATCHEL_TRY_ASSIGN(const GgufType type, value_type());
    SATCHEL_TRY_ASSIGN(const GgufValue found, value(type));
    table_.entries.push_back({key, found});
  }
  return {};
}

Result<GgufValue> Parser::value(GgufType type) {
  if (type == GgufType::array) return array();
  GgufValue out{.type = type, .element = type, .count = 1, .bytes = {}};
  if (type == GgufType::string) {
    SATCHEL_TRY_ASSIGN(const std::string_view characters, text(inside_, GgufLimits::string_bytes));
    out.bytes = std::as_bytes(std::span(characters));
    return out;
  }
  const std::size_t bytes = gguf_fixed_bytes(type);
  if (left() < bytes) return ends_here();
  out.bytes = file_.subspan(at_, bytes);
  at_ += bytes;
  return out;
}

Result<std::uint64_t> Parser::array_head(GgufType& element) {
  SATCHEL_TRY_ASSIGN(element, value_type());
  SATCHEL_TRY_ASSIGN(const std::uint64_t count, number<std::uint64_t>());
  if (count > GgufLimits::array_values)
    return damaged_file(
        beyond("The number of elements of " + inside_ + " is", count, GgufLimits::array_values));
  return count;
}

Result<GgufValue> Parser::array() {
  GgufValue out{.type = GgufType::array, .element = GgufType::u8, .count = 0, .bytes = {}};
  SATCHEL_TRY_ASSIGN(const std::uint64_t count, array_head(out.element));
  out.count = static_cast<std::size_t>(count);
  const std::size_t start = at_;
  SATCHEL_TRY(skip_elements(out.element, count, 1));
  out.bytes = file_.subspan(start, at_ - start);
  return out;
}

// Every step takes at least one byte of the file, so that a forged count cannot make this long.
Result<void> Parser::skip_elements(GgufType element, std::uint64_t count, int depth) {
  if (depth > GgufLimits::array_depth)
    return damaged_file("The arrays of " + inside_ + " are nested more than " +
                        std::to_string(GgufLimits::array_depth) + " deep");
  if (const std::size_t each = gguf_fixed_bytes(element); each > 0) {
    const std::optional<std::size_t> bytes = (Checked(count) * Checked(each)).to<std::size_t>();
    if (!bytes || *bytes > left()) return ends_here();
    at_ += *bytes;
    return {};
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (element == GgufType::string) {
      SATCHEL_TRY(text(inside_, GgufLimits::string_bytes));
      continue;
    }
    GgufType inner = GgufType::u8;
    SATCHEL_TRY_ASSIGN(const std::uint64_t inner_count, array_head(inner));
    SATCHEL_TRY(skip_elements(inner, inner_count, depth + 1));
  }
  return {};
}

Result<void> Parser::alignment() {
  table_.alignment = GgufLimits::alignment_default;
  const GgufValue* found = table_.find_value("general.alignment");
  if (found == nullptr) return {};
  const std::optional<std::int64_t> declared = load_integer(found->type, found->bytes.data());
  const std::uint64_t value =
      declared.value_or(0) < 0 ? 0 : static_cast<std::uint64_t>(declared.value_or(0));
  if (value < GgufLimits::alignment_min || value > GgufLimits::alignment_max ||
      (value & (value - 1)) != 0)
    return damaged_file("\"general.alignment\" is " + describe(*found) +
                        ", but must be a power of two from " +
                        std::to_string(GgufLimits::alignment_min) + " to " +
                        std::to_string(GgufLimits::alignment_max));
  table_.alignment = value;
  return {};
}

Result<void> Parser::tensors() {
  constexpr std::size_t kTensorBytesMin = 8 + 1 + 4 + 8 + 4 + 8;
  table_.tensors.reserve(std::min<std::size_t>(n_tensors_, left() / kTensorBytesMin));
  std::vector<std::uint64_t> offsets;
  offsets.reserve(table_.tensors.capacity());
  for (std::uint64_t i = 0; i < n_tensors_; ++i) {
    inside_ =
        "the table entry of tensor " + std::to_string(i + 1) + " of " + std::to_string(n_tensors_);
    std::uint64_t offset = 0;
    SATCHEL_TRY_ASSIGN(const GgufTensor found, tensor(offset));
    table_.tensors.push_back(found);
    offsets.push_back(offset);
  }
  return place_tensors(
      {.file = file_, .table_end = at_, .alignment = table_.alignment, .offsets = offsets},
      table_.tensors);
}

Result<GgufTensor> Parser::tensor(std::uint64_t& offset) {
  GgufTensor out;
  SATCHEL_TRY_ASSIGN(out.name, text("the name in " + inside_, GgufLimits::tensor_name_bytes));
  if (out.name.empty()) return damaged_file("The name in " + inside_ + " is empty");
  inside_ = "the table entry of tensor " + quoted(out.name);
  SATCHEL_TRY_ASSIGN(const std::uint32_t n_dims, number<std::uint32_t>());
  if (n_dims < 1 || n_dims > GgufLimits::dims)
    return damaged_file("Tensor " + quoted(out.name) + " has " + count_text(n_dims) +
                        " dimensions, but GGUF allows 1 to 4 only");
  out.n_dims = n_dims;
  Checked n_values = 1;
  for (std::size_t d = 0; d < out.n_dims; ++d) {
    SATCHEL_TRY_ASSIGN(const std::uint64_t dim, number<std::uint64_t>());
    if (dim < 1 || dim > GgufLimits::dim)
      return damaged_file("Dimension " + std::to_string(d) + " of tensor " + quoted(out.name) +
                          " is " + count_text(dim) + ", which is impossible");
    out.dims[d] = static_cast<std::size_t>(dim);
    n_values = n_values * Checked(dim);
  }
  SATCHEL_TRY_ASSIGN(out.type_id, number<std::uint32_t>());
  SATCHEL_TRY_ASSIGN(offset, number<std::uint64_t>());
  const StorageType* storage = storage_type_of(out.type_id);
  if (storage == nullptr)
    return Error{ErrorKind::unsupported, "MODEL_QUANT",
                 "Tensor " + quoted(out.name) + " has weight type " + std::to_string(out.type_id) +
                     ", which this version does not know. Choose a Q4_K_M or Q8_0 file."};
  out.type_name = storage->name;
  out.type = kernels::weight_type_of(out.type_id);
  const std::optional<std::size_t> values = n_values.to<std::size_t>();
  if (!values ||
      *values / storage->block_values > GgufLimits::tensor_bytes / storage->block_bytes ||
      out.dims[0] % storage->block_values != 0)
    return damaged_file("Tensor " + quoted(out.name) + " declares an impossible size");
  out.n_values = *values;
  return out;
}

}  // namespace

const GgufValue* GgufTable::find_value(std::string_view key) const {
  const auto found =
      std::lower_bound(by_key.begin(), by_key.end(), key,
                       [&](std::uint32_t i, std::string_view k) { return entries[i].key < k; });
  return found == by_key.end() || entries[*found].key != key ? nullptr : &entries[*found].value;
}

const GgufTensor* GgufTable::find_tensor(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name.begin(), by_name.end(), name,
                       [&](std::uint32_t i, std::string_view n) { return tensors[i].name < n; });
  return found == by_name.end() || tensors[*found].name != name ? nullptr : &tensors[*found];
}

Result<GgufTable> parse_gguf(std::span<const std::byte> file) {
  return Parser(file).run();
}

}  // namespace satchel::runtime
