#include "runtime/model/weights.h"

#include <algorithm>
#include <string>

#include "kernels/reference/dequant.h"

namespace satchel::runtime {
namespace {

std::string shape_text(std::size_t n_out, std::size_t n_in) {
  return "[" + std::to_string(n_out) + ", " + std::to_string(n_in) + "]";
}

std::size_t vector_bytes(const TensorSpec& spec) {
  return spec.vector == nullptr ? 0 : spec.n_out * spec.n_in * sizeof(float);
}

// Without those behind of length 1, which say nothing.
std::size_t dims_of(const GgufTensor& tensor) {
  std::size_t n = tensor.n_dims;
  while (n > 1 && tensor.dims[n - 1] == 1) --n;
  return n;
}

// Vectors are flat; what is cut into parts may stack them along one more dimension (experts).
std::size_t dims_most(const TensorSpec& spec) {
  const std::size_t of_one = spec.vector != nullptr && spec.n_out == 1 ? 1 : 2;
  return spec.n_rows == 0 ? of_one : of_one + 1;
}

// Of rows that lie in blocks: a copy, side by side.
std::vector<std::byte> blocks_of_rows(const TensorSpec& spec, const GgufTensor& tensor) {
  const std::size_t row = tensor.bytes.size() / tensor.n_rows();
  std::vector<std::byte> out;
  out.reserve(spec.n_out * row);
  for (std::size_t first = spec.first_row; out.size() < spec.n_out * row;
       first += spec.block_stride) {
    const auto block = tensor.bytes.subspan(first * row, spec.block_rows * row);
    out.insert(out.end(), block.begin(), block.end());
  }
  return out;
}

std::span<const std::byte> wanted_bytes(const TensorSpec& spec, const GgufTensor& tensor) {
  // Rows are whole blocks.
  const std::size_t row = tensor.bytes.size() / (tensor.n_rows() * spec.rows_of_row);
  return tensor.bytes.subspan(spec.first_row * row, spec.n_out * row);
}

class Loader {
 public:
  Loader(kernels::Backend& backend, const GgufFile& file, std::span<const TensorSpec> specs,
         const LoadOptions& options)
      : backend_(backend), file_(file), specs_(specs), options_(options) {
    for (const GgufTensor& tensor : file.tensors()) bytes_total_ += tensor.bytes.size();
  }

  Result<Weights> run() {
    SATCHEL_TRY(file_.check_unchanged());
    std::size_t vectors = 0;
    for (const TensorSpec& spec : specs_) {
      SATCHEL_TRY_ASSIGN(const GgufTensor* found, required(spec));
      if (found != nullptr || spec.constant) vectors += vector_bytes(spec);
    }
    SATCHEL_TRY_ASSIGN(out_.vectors, backend_.allocate(vectors));
    for (const TensorSpec& spec : specs_) {
      if (options_.stop.stop_requested())
        return Error{ErrorKind::cancelled, "STOPPED", "Stopped. The model is not loaded."};
      SATCHEL_TRY(one(spec));
    }
    SATCHEL_TRY(refuse_the_rest());
    file_.let_go();  // what backends read where it lies comes back as it is read
    out_.bytes += out_.vectors.size();
    out_.owned_bytes += out_.vectors.size();
    if (options_.progress) options_.progress({Phase::load_model, bytes_total_, bytes_total_});
    return std::move(out_);
  }

 private:
  // The tensor to be loaded, of the shape that is asked for; null where there is nothing to load.
  Result<const GgufTensor*> required(const TensorSpec& spec) const {
    const GgufTensor* found = file_.find_tensor(spec.name);
    if (spec.constant) return static_cast<const GgufTensor*>(nullptr);
    const bool is_loaded = spec.matrix != nullptr || spec.vector != nullptr;
    if (!is_loaded || (found == nullptr && spec.is_optional))
      return static_cast<const GgufTensor*>(nullptr);
    SATCHEL_TRY_ASSIGN(found, file_.require_tensor(spec.name));
    const bool is_whole = kernels::row_bytes(*found->type, spec.n_in).has_value();
    if (dims_of(*found) <= dims_most(spec) && is_whole &&
        found->row_length() == spec.n_in * spec.rows_of_row &&
        found->n_rows() * spec.rows_of_row == spec.n_rows_in_all())
      return found;
    return Error{
        ErrorKind::corrupt, "MODEL_METADATA",
        "Tensor \"" + spec.name + "\" is " + shape_text(found->n_rows(), found->row_length()) +
            ", but must be " +
            shape_text(spec.n_rows_in_all() / spec.rows_of_row, spec.n_in * spec.rows_of_row) +
            "."};
  }

  Result<void> one(const TensorSpec& spec) {
    if (spec.first_row == 0 && file_.find_tensor(spec.name) != nullptr) ++n_known_;
    SATCHEL_TRY_ASSIGN(const GgufTensor* found, required(spec));
    if (spec.constant) return put(spec, std::vector<float>(spec.n_in, *spec.constant));
    if (found == nullptr) return {};
    SATCHEL_TRY(spec.matrix != nullptr ? matrix(spec, *found) : vector(spec, *found));
    bytes_done_ += wanted_bytes(spec, *found).size();
    if (options_.progress) options_.progress({Phase::load_model, bytes_done_, bytes_total_});
    return {};
  }

  Result<void> matrix(const TensorSpec& spec, const GgufTensor& tensor) {
    if (spec.block_rows != 0) return matrix_of_blocks(spec, tensor);
    const std::span<const std::byte> bytes = wanted_bytes(spec, tensor);
    SATCHEL_TRY_ASSIGN(
        std::unique_ptr<kernels::Weight> weight,
        backend_.load_weight(
            {.type = *tensor.type,
             .n_out = spec.n_out,
             .n_in = spec.n_in,
             .bytes = bytes,
             .done_with = [&file = file_](std::span<const std::byte> part) { file.let_go(part); },
             .is_table = spec.is_table}));
    const std::size_t owned = weight->owned_bytes();
    out_.owned_bytes += owned;
    out_.bytes += owned != 0 ? owned : bytes.size();
    if (owned != 0) file_.let_go(bytes);  // what lay across the parts' borders too
    *spec.matrix = weight.get();
    out_.matrices.push_back(std::move(weight));
    return {};
  }

  // The copy stays where the backend reads it in place.
  Result<void> matrix_of_blocks(const TensorSpec& spec, const GgufTensor& tensor) {
    std::vector<std::byte> bytes = blocks_of_rows(spec, tensor);
    SATCHEL_TRY_ASSIGN(
        std::unique_ptr<kernels::Weight> weight,
        backend_.load_weight(
            {.type = *tensor.type, .n_out = spec.n_out, .n_in = spec.n_in, .bytes = bytes}));
    const std::size_t owned = weight->owned_bytes() != 0 ? weight->owned_bytes() : bytes.size();
    out_.owned_bytes += owned;
    out_.bytes += owned;
    if (weight->owned_bytes() == 0) out_.copies.push_back(std::move(bytes));
    *spec.matrix = weight.get();
    out_.matrices.push_back(std::move(weight));
    return {};
  }

  Result<void> vector(const TensorSpec& spec, const GgufTensor& tensor) {
    std::vector<float> values(spec.n_out * spec.n_in);
    const std::span<const std::byte> bytes = wanted_bytes(spec, tensor);
    for (std::size_t row = 0; row < spec.n_out; ++row)
      kernels::dequantise_row(*tensor.type, bytes.data() + row * (bytes.size() / spec.n_out),
                              spec.n_in, values.data() + row * spec.n_in);
    for (float& value : values) value *= spec.factor;
    return put(spec, values);
  }

  Result<void> put(const TensorSpec& spec, std::span<const float> values) {
    std::byte* to = out_.vectors.data() + vectors_at_;
    vectors_at_ += vector_bytes(spec);
    SATCHEL_TRY(backend_.upload(to, std::as_bytes(values)));
    *spec.vector = reinterpret_cast<const float*>(to);
    return {};
  }

  // A tensor that has no place in the graph (norms of queries in a model without, a bias of the
  // feed-forward) would make every answer subtly wrong if it were passed over.
  Result<void> refuse_the_rest() {
    if (n_known_ == file_.tensors().size()) return {};
    std::vector<std::string_view> known;
    for (const TensorSpec& spec : specs_) known.push_back(spec.name);
    std::sort(known.begin(), known.end());
    for (const GgufTensor& stranger : file_.tensors())
      if (!std::binary_search(known.begin(), known.end(), std::string_view(stranger.name)))
        return Error{ErrorKind::unsupported, "MODEL_ARCH",
                     "The model has a tensor " + quoted(stranger.name) +
                         ", which Satchel does not support for this architecture."};
    return {};
  }

  kernels::Backend& backend_;
  const GgufFile& file_;
  std::span<const TensorSpec> specs_;
  const LoadOptions& options_;
  Weights out_;
  std::size_t n_known_ = 0, vectors_at_ = 0, bytes_done_ = 0, bytes_total_ = 0;
};

}  // namespace

Result<Weights> Weights::load(kernels::Backend& backend, const GgufFile& file,
                              std::span<const TensorSpec> specs, const LoadOptions& options) {
  return Loader(backend, file, specs, options).run();
}

}  // namespace satchel::runtime
