#include "runtime/model/weights.h"

#include <algorithm>
#include <string>

#include "kernels/reference/dequant.h"

namespace satchel::runtime {
namespace {

std::string shape_text(std::size_t n_out, std::size_t n_in) {
  return "[" + std::to_string(n_out) + ", " + std::to_string(n_in) + "]";
}

std::size_t vector_bytes(const TensorWish& wish) {
  return wish.vector == nullptr ? 0 : wish.n_in * sizeof(float);
}

// Vectors are flat; what is cut into parts may stack them along a third dimension (experts).
std::size_t dims_most(const TensorWish& wish) {
  if (wish.vector != nullptr) return 1;
  return wish.n_rows == 0 ? 2 : 3;
}

std::span<const std::byte> wished_bytes(const TensorWish& wish, const GgufTensor& tensor) {
  const std::size_t row = tensor.bytes.size() / tensor.n_rows();  // rows are whole blocks
  return tensor.bytes.subspan(wish.first_row * row, wish.n_out * row);
}

class Loader {
 public:
  Loader(kernels::Backend& backend, const GgufFile& file, std::span<const TensorWish> wishes,
         const ProgressFn& progress)
      : backend_(backend), file_(file), wishes_(wishes), progress_(progress) {
    for (const GgufTensor& tensor : file.tensors()) bytes_total_ += tensor.bytes.size();
  }

  Result<Weights> run() {
    SATCHEL_TRY(file_.check_unchanged());
    std::size_t vectors = 0;
    for (const TensorWish& wish : wishes_) {
      SATCHEL_TRY_ASSIGN(const GgufTensor* found, wished(wish));
      if (found != nullptr) vectors += vector_bytes(wish);
    }
    SATCHEL_TRY_ASSIGN(out_.vectors, backend_.allocate(vectors));
    for (const TensorWish& wish : wishes_) SATCHEL_TRY(one(wish));
    SATCHEL_TRY(refuse_the_rest());
    file_.let_go();  // what backends read where it lies comes back as it is read
    out_.bytes += out_.vectors.size();
    out_.owned_bytes += out_.vectors.size();
    if (progress_) progress_({Phase::load_model, bytes_total_, bytes_total_});
    return std::move(out_);
  }

 private:
  // The tensor to be loaded, of the shape that is asked for; null where there is nothing to load.
  Result<const GgufTensor*> wished(const TensorWish& wish) const {
    const GgufTensor* found = file_.find_tensor(wish.name);
    const bool is_loaded = wish.matrix != nullptr || wish.vector != nullptr;
    if (!is_loaded || (found == nullptr && wish.is_optional))
      return static_cast<const GgufTensor*>(nullptr);
    SATCHEL_TRY_ASSIGN(found, file_.require_tensor(wish.name));
    if (found->n_dims <= dims_most(wish) && found->row_length() == wish.n_in &&
        found->n_rows() == wish.n_rows_in_all())
      return found;
    return Error{
        ErrorKind::corrupt, "MODEL_METADATA",
        "Tensor \"" + wish.name + "\" is " + shape_text(found->n_rows(), found->row_length()) +
            ", but the metadata ask for " + shape_text(wish.n_rows_in_all(), wish.n_in) + "."};
  }

  Result<void> one(const TensorWish& wish) {
    if (wish.first_row == 0 && file_.find_tensor(wish.name) != nullptr) ++n_known_;
    SATCHEL_TRY_ASSIGN(const GgufTensor* found, wished(wish));
    if (found == nullptr) return {};
    SATCHEL_TRY(wish.matrix != nullptr ? matrix(wish, *found) : vector(wish, *found));
    bytes_done_ += wished_bytes(wish, *found).size();
    if (progress_) progress_({Phase::load_model, bytes_done_, bytes_total_});
    return {};
  }

  Result<void> matrix(const TensorWish& wish, const GgufTensor& tensor) {
    const std::span<const std::byte> bytes = wished_bytes(wish, tensor);
    SATCHEL_TRY_ASSIGN(
        std::unique_ptr<kernels::Weight> weight,
        backend_.load_weight({.type = *tensor.type,
                              .n_out = wish.n_out,
                              .n_in = wish.n_in,
                              .bytes = bytes,
                              .done_with = [&file = file_](std::span<const std::byte> part) {
                                file.let_go(part);
                              }}));
    const std::size_t owned = weight->owned_bytes();
    out_.owned_bytes += owned;
    out_.bytes += owned != 0 ? owned : bytes.size();
    if (owned != 0) file_.let_go(bytes);  // what lay across the parts' borders too
    *wish.matrix = weight.get();
    out_.matrices.push_back(std::move(weight));
    return {};
  }

  Result<void> vector(const TensorWish& wish, const GgufTensor& tensor) {
    std::vector<float> values(wish.n_in);
    kernels::dequantise_row(*tensor.type, tensor.bytes.data(), values.size(), values.data());
    std::byte* to = out_.vectors.data() + vectors_at_;
    vectors_at_ += vector_bytes(wish);
    SATCHEL_TRY(backend_.upload(to, std::as_bytes(std::span(values))));
    *wish.vector = reinterpret_cast<const float*>(to);
    return {};
  }

  // A tensor that has no place in the graph (norms of queries in a model without, a bias of the
  // feed-forward) would make every answer subtly wrong if it were passed over.
  Result<void> refuse_the_rest() {
    if (n_known_ == file_.tensors().size()) return {};
    std::vector<std::string_view> known;
    for (const TensorWish& wish : wishes_) known.push_back(wish.name);
    std::sort(known.begin(), known.end());
    for (const GgufTensor& stranger : file_.tensors())
      if (!std::binary_search(known.begin(), known.end(), std::string_view(stranger.name)))
        return Error{ErrorKind::unsupported, "MODEL_ARCH",
                     "The model has a tensor " + quoted(stranger.name) +
                         ", which Satchel's graph of this architecture does not compute "
                         "with."};
    return {};
  }

  kernels::Backend& backend_;
  const GgufFile& file_;
  std::span<const TensorWish> wishes_;
  const ProgressFn& progress_;
  Weights out_;
  std::size_t n_known_ = 0, vectors_at_ = 0, bytes_done_ = 0, bytes_total_ = 0;
};

}  // namespace

Result<Weights> Weights::load(kernels::Backend& backend, const GgufFile& file,
                              std::span<const TensorWish> wishes, const ProgressFn& progress) {
  return Loader(backend, file, wishes, progress).run();
}

}  // namespace satchel::runtime
