#include "support/gguf_writer.h"

#include <cstring>
#include <fstream>

#include "kernels/base/rng.h"

namespace satchel::tests {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void put_number(Bytes& out, T value) {
  put(out, std::as_bytes(std::span(&value, 1)));
}
void put_text(Bytes& out, std::string_view text) {
  put_number(out, static_cast<std::uint64_t>(text.size()));
  put(out, std::as_bytes(std::span(text)));
}
void pad(Bytes& out, std::size_t step) {
  while (out.size() % step != 0) out.push_back(std::byte{0});
}

}  // namespace

GgufWriter& GgufWriter::add_raw(std::string_view key, std::uint32_t type_id,
                                std::span<const std::byte> value) {
  put_text(metadata_, key);
  put_number(metadata_, type_id);
  put(metadata_, value);
  ++n_keys_;
  return *this;
}

GgufWriter& GgufWriter::add_string(std::string_view key, std::string_view value) {
  Bytes text;
  put_text(text, value);
  return add_raw(key, 8, text);
}

GgufWriter& GgufWriter::add_string_array(std::string_view key,
                                         std::span<const std::string> values) {
  Bytes elements;
  for (const std::string& value : values) put_text(elements, value);
  return add_array(key, 8, values.size(), elements);
}

GgufWriter& GgufWriter::add_array(std::string_view key, std::uint32_t element_id,
                                  std::uint64_t count, std::span<const std::byte> elements) {
  Bytes value;
  put_number(value, element_id);
  put_number(value, count);
  put(value, elements);
  return add_raw(key, 9, value);
}

GgufWriter& GgufWriter::declare_tensor(std::string_view name, std::uint32_t type_id,
                                       std::span<const std::uint64_t> dims, std::uint64_t offset) {
  put_text(table_, name);
  put_number(table_, static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t dim : dims) put_number(table_, dim);
  put_number(table_, type_id);
  put_number(table_, offset);
  ++n_tensors_;
  return *this;
}

GgufWriter& GgufWriter::add_tensor(std::string_view name, std::uint32_t type_id,
                                   std::span<const std::uint64_t> dims,
                                   std::span<const std::byte> bytes) {
  pad(data_, alignment_);
  declare_tensor(name, type_id, dims, data_.size());
  put(data_, bytes);
  return *this;
}

GgufWriter& GgufWriter::alignment(std::uint32_t bytes) {
  alignment_ = bytes == 0 ? 1 : bytes;
  return add_u32("general.alignment", bytes);
}

GgufWriter& GgufWriter::version(std::uint32_t number) {
  version_ = number;
  return *this;
}

GgufWriter& GgufWriter::declare_counts(std::uint64_t n_tensors, std::uint64_t n_keys) {
  n_tensors_ = n_tensors;
  n_keys_ = n_keys;
  return *this;
}

Bytes GgufWriter::bytes() const {
  Bytes out;
  put(out, std::as_bytes(std::span(std::string_view("GGUF"))));
  put_number(out, version_);
  put_number(out, n_tensors_);
  put_number(out, n_keys_);
  put(out, metadata_);
  put(out, table_);
  if (!data_.empty()) pad(out, alignment_);
  put(out, data_);
  return out;
}

bool GgufWriter::write(const std::filesystem::path& path) const {
  const Bytes all = bytes();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  return file.good();
}

GgufWriter small_gguf() {
  const std::string tokens[] = {"<unk>", "<s>", "</s>", "\xe2\x96\x81the", "", "a\nb"};
  const float scores[] = {0.0f, -1.5f, -2.0f, -3.0f, 1e-20f, -1000.0f};
  const std::int32_t types[] = {2, 3, 3, 1, 1, 1};
  const std::uint8_t small[] = {0, 1, 255};
  Bytes nested;  // [[u8 ×2], []]
  put_number(nested, std::uint32_t{9});
  put_number(nested, std::uint64_t{2});
  put_number(nested, std::uint32_t{0});
  put_number(nested, std::uint64_t{2});
  put_number(nested, std::uint16_t{0x0201});
  put_number(nested, std::uint32_t{12});
  put_number(nested, std::uint64_t{0});

  GgufWriter out;
  out.add_string("general.architecture", "llama").add_string("general.name", "small").alignment(32);
  out.add_u8("t.u8", 200).add_i8("t.i8", -100).add_u16("t.u16", 60000).add_i16("t.i16", -30000);
  out.add_u32("t.u32", 4000000000u).add_i32("t.i32", -2000000000).add_u64("t.u64", 1ull << 40);
  out.add_i64("t.i64", -(1ll << 40))
      .add_f32("t.f32", 1e-5f)
      .add_f64("t.f64", 0.25)
      .add_bool("t.bool", true);
  out.add_string_array("tokenizer.ggml.tokens", tokens)
      .add_f32_array("tokenizer.ggml.scores", scores);
  out.add_i32_array("tokenizer.ggml.token_type", types).add_u8_array("t.u8s", small);
  out.add_string_array("t.empty", {}).add_raw("t.nested", 9, nested);

  Rng rng(7);
  for (const kernels::WeightType type : kernels::kWeightTypes) {
    const kernels::WeightTypeTraits& traits = kernels::weight_type_traits(type);
    Bytes weights(traits.block_bytes * (traits.block_values == 256 ? 1 : 2));
    for (std::byte& b : weights)
      b = static_cast<std::byte>(rng.next() & 0x3f);  // no infinite scales
    const std::uint64_t row = weights.size() / traits.block_bytes * traits.block_values;
    out.add_tensor(std::string("weight.") + traits.name, type, {row}, weights);
  }
  constexpr std::uint32_t kQ8K = 15;  // ggml's own intermediate: in no file, computed with nowhere
  const std::uint64_t one_block = 256;
  return out.add_tensor("weight.Q8_K", kQ8K, std::span(&one_block, 1), Bytes(292));
}

}  // namespace satchel::tests
