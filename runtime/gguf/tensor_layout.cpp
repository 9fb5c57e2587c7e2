#include "runtime/gguf/tensor_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "kernels/base/checked.h"
#include "kernels/base/size_text.h"
#include "runtime/gguf/tensor_type.h"

namespace satchel::runtime {
namespace {

// Block count and size were bounded when the table was read.
std::uint64_t bytes_of(const GgufTensor& tensor) {
  const StorageType& storage = *storage_type_of(tensor.type_id);
  return tensor.n_values / storage.block_values * storage.block_bytes;
}

// Every writer lays tensors end to end in the table's order. Where that holds, a file that ends too
// early was cut; where it does not, the table itself is wrong.
bool lie_end_to_end(const TensorPlaces& places, const std::vector<GgufTensor>& tensors) {
  Checked next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (next.to<std::uint64_t>() != places.offsets[i]) return false;
    next = (next + Checked(bytes_of(tensors[i]))).rounded_up(places.alignment);
  }
  return true;
}

Error too_short(const TensorPlaces& places, std::uint64_t needed) {
  return {ErrorKind::corrupt, "MODEL_TRUNCATED",
          "The file ends at " + size_text(places.file.size()) + ", but its table needs " +
              size_text(needed) + " (" + count_text(needed - places.file.size()) +
              " bytes more). The download is incomplete; get it again."};
}

Result<void> check_overlap(const std::vector<GgufTensor>& tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return tensors[a].bytes.data() < tensors[b].bytes.data(); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& before = tensors[order[i - 1]];
    const GgufTensor& after = tensors[order[i]];
    if (before.bytes.data() + before.bytes.size() > after.bytes.data())
      return damaged_file("Tensors " + quoted(before.name) + " and " + quoted(after.name) +
                          " share bytes");
  }
  return {};
}

}  // namespace

Error damaged_file(const std::string& what) {
  return {ErrorKind::corrupt, "MODEL_DAMAGED",
          what + ". The file is damaged or forged; get it again."};
}

Result<void> place_tensors(const TensorPlaces& places, std::vector<GgufTensor>& tensors) {
  const Checked data_start = Checked(places.table_end).rounded_up(places.alignment);
  const bool end_to_end = lie_end_to_end(places, tensors);
  const GgufTensor* outside = nullptr;
  std::uint64_t needed = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    GgufTensor& tensor = tensors[i];
    if (places.offsets[i] % places.alignment != 0)
      return damaged_file("Tensor " + quoted(tensor.name) + " is at offset " +
                          count_text(places.offsets[i]) + ", which is not a multiple of " +
                          std::to_string(places.alignment));
    const std::uint64_t bytes = bytes_of(tensor);
    const Checked begin = data_start + Checked(places.offsets[i]);
    const std::optional<std::uint64_t> end = (begin + Checked(bytes)).to<std::uint64_t>();
    if (!end) return damaged_file("Tensor " + quoted(tensor.name) + " lies outside the file");
    needed = std::max(needed, *end);
    if (*end > places.file.size()) {
      if (outside == nullptr) outside = &tensor;
      continue;
    }
    tensor.bytes =
        places.file.subspan(begin.to<std::size_t>().value_or(0), static_cast<std::size_t>(bytes));
  }
  if (outside != nullptr && end_to_end) return too_short(places, needed);
  if (outside != nullptr)
    return damaged_file("Tensor " + quoted(outside->name) + " lies outside the file");
  return check_overlap(tensors);
}

}  // namespace satchel::runtime
