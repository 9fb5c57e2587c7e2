#include "gpu/synthetic_model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/gguf_writer.h"
#include "support/weights.h"

namespace satchel::bench {
namespace {

using kernels::WeightType;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStretchStep = 9 * kPage;  // whole blocks of 18 bytes and whole pages

std::size_t whole(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// Where tensors lie: matrices from the front, then the vectors, which are not random.
class Table {
 public:
  explicit Table(const ModelShape& shape) : shape_(shape) {
    writer_.alignment(kPage);
    describe();
    matrices();
    const std::size_t first_vector = at_;
    vectors();
    n_vector_bytes_ = at_ - first_vector;
  }
  std::size_t n_matrix_bytes() const { return at_ - n_vector_bytes_; }
  std::size_t n_vector_bytes() const { return n_vector_bytes_; }
  // Header and table, whole pages.
  std::vector<std::byte> head() const {
    std::vector<std::byte> bytes = writer_.bytes();
    bytes.resize(whole(bytes.size(), kPage));
    return bytes;
  }

 private:
  void describe() {
    const auto u32 = [&](const char* key, std::size_t value) {
      writer_.add_u32(key, static_cast<std::uint32_t>(value));
    };
    writer_.add_string("general.architecture", "llama").add_string("general.name", shape_.name);
    u32("llama.block_count", shape_.n_layers);
    u32("llama.embedding_length", shape_.width);
    u32("llama.feed_forward_length", shape_.ffn_width);
    u32("llama.context_length", 262'144);
    u32("llama.attention.head_count", shape_.n_heads);
    u32("llama.attention.head_count_kv", shape_.n_kv_heads);
    u32("llama.attention.key_length", shape_.head_dim);
    u32("llama.attention.value_length", shape_.head_dim);
    writer_.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    writer_.add_f32("llama.rope.freq_base", 5e5f);
  }
  void matrix(const std::string& name, std::size_t n_out, std::size_t n_in) {
    const std::size_t bytes = *kernels::row_bytes(WeightType::q4_0, n_in) * n_out;
    SATCHEL_ASSERT(bytes % kStretchStep == 0);
    declare(name, WeightType::q4_0, {n_in, n_out}, bytes);
  }
  void vector(const std::string& name) {
    declare(name, WeightType::f32, {shape_.width}, shape_.width * sizeof(float));
  }
  void declare(const std::string& name, WeightType type, std::vector<std::uint64_t> dims,
               std::size_t bytes) {
    writer_.declare_tensor(name, static_cast<std::uint32_t>(type), dims, at_);
    at_ += whole(bytes, kPage);
  }
  void matrices() {
    const std::size_t q = shape_.n_heads * shape_.head_dim,
                      kv = shape_.n_kv_heads * shape_.head_dim;
    matrix("token_embd.weight", shape_.n_vocabulary, shape_.width);
    if (!shape_.tied) matrix("output.weight", shape_.n_vocabulary, shape_.width);
    for (std::size_t layer = 0; layer < shape_.n_layers; ++layer) {
      const std::string at = "blk." + std::to_string(layer) + ".";
      matrix(at + "attn_q.weight", q, shape_.width);
      matrix(at + "attn_k.weight", kv, shape_.width);
      matrix(at + "attn_v.weight", kv, shape_.width);
      matrix(at + "attn_output.weight", shape_.width, q);
      matrix(at + "ffn_gate.weight", shape_.ffn_width, shape_.width);
      matrix(at + "ffn_up.weight", shape_.ffn_width, shape_.width);
      matrix(at + "ffn_down.weight", shape_.width, shape_.ffn_width);
    }
  }
  void vectors() {
    vector("output_norm.weight");
    for (std::size_t layer = 0; layer < shape_.n_layers; ++layer)
      for (const char* norm : {"attn_norm", "ffn_norm"})
        vector("blk." + std::to_string(layer) + "." + norm + ".weight");
  }

  const ModelShape& shape_;
  tests::GgufWriter writer_;
  std::size_t at_ = 0, n_vector_bytes_ = 0;
};

Error no_memory(const char* what) {
  return {ErrorKind::out_of_memory, "MEMORY", std::string("No memory for ") + what + "."};
}

// A file of random blocks that lies nowhere.
Result<int> random_stretch(std::size_t& bytes) {
  const test::WeightFile blocks = test::random_weight(WeightType::q4_0, 16'384, 1'152, 21);
  bytes = blocks.source().bytes.size();
  SATCHEL_ASSERT(bytes % kStretchStep == 0);
  const int file = memfd_create("weights", 0);
  if (file < 0) return no_memory("random weights");
  const auto written = write(file, blocks.source().bytes.data(), bytes);
  if (written == static_cast<ssize_t>(bytes)) return file;
  close(file);
  return no_memory("random weights");
}

}  // namespace

Result<ModelShape> model_shape(std::string_view name) {
  const ModelShape shapes[] = {{"tiny", 2, 256, 8, 4, 64, 1024, 36'864, true},
                               {"1b", 16, 2048, 32, 8, 64, 8192, 128'256, true},
                               {"8b", 32, 4096, 32, 8, 128, 14336, 128'256, false}};
  for (const ModelShape& shape : shapes)
    if (shape.name == name) return shape;
  return Error{ErrorKind::not_found, "PARAM", "Shapes are 1b, 8b and tiny."};
}

Result<SyntheticModel> SyntheticModel::make(const ModelShape& shape) {
  const Table table(shape);
  const std::vector<std::byte> head = table.head();
  SyntheticModel model;
  model.n_bytes_ = head.size() + table.n_matrix_bytes() + table.n_vector_bytes();
  void* memory =
      mmap(nullptr, model.n_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return no_memory("a model");
  model.memory_ = static_cast<std::byte*>(memory);
  std::memcpy(model.memory_, head.data(), head.size());
  std::size_t stretch = 0;
  SATCHEL_TRY_ASSIGN(const int file, random_stretch(stretch));
  bool mapped = true;
  for (std::size_t at = 0; at < table.n_matrix_bytes(); at += stretch)
    mapped &= mmap(model.memory_ + head.size() + at, std::min(stretch, table.n_matrix_bytes() - at),
                   PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  close(file);
  if (!mapped) return no_memory("a model");
  auto* ones = reinterpret_cast<float*>(model.memory_ + head.size() + table.n_matrix_bytes());
  std::fill(ones, ones + table.n_vector_bytes() / sizeof(float), 1.0f);
  return model;
}

SyntheticModel::~SyntheticModel() {
  if (memory_ != nullptr) munmap(memory_, n_bytes_);
}
SyntheticModel::SyntheticModel(SyntheticModel&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), n_bytes_(other.n_bytes_) {}

}  // namespace satchel::bench
