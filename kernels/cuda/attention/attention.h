// Attention: attend() of the cuda backend, from lane tables to launches. Sequences with few query
// rows use attend_decode(), which splits the lanes; those with many rows use PrefillRows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/lane_table.h"
#include "kernels/cuda/attention/prefill_rows.h"
#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"

namespace satchel::kernels::cuda {

class Attention {
 public:
  // Queues the decoding of pages to fp32, which only the backend can do.
  using Decode = std::function<Result<void>(std::span<const DecodeArgs>)>;

  // The memory for decoded pages at a time, unless one split of each lane needs more. Chosen: small
  // compared with a card's memory, but enough pages to occupy the card.
  static constexpr std::size_t kDecodedBytesMost = std::size_t{64} << 20;

  Attention(Device& device, Arguments& arguments,
            std::size_t decoded_bytes_most = kDecodedBytesMost)
      : device_(&device), arguments_(&arguments), decoded_bytes_most_(decoded_bytes_most) {}
  std::size_t bytes() const {
    return partials_.size() + counters_.size() + decoded_.size() + basis_queries_.size() +
           basis_places_.size() + prefill_workspace_.size() + prefill_rows_.bytes();
  }

  Result<void> attend(const AttendArgs& args, const Decode& decode);

 private:
  // Both: of at least one sequence, none without tokens.
  Result<void> attend_decode(const AttendArgs& args, const Decode& decode);
  Result<void> attend_prefill(const AttendArgs& args, const Decode& decode);
  Result<void> add_sequence(const AttendArgs& args, const Sequence& sequence, unsigned n_sets);
  Result<void> place_basis_queries(AttendCall& call, unsigned n_sets);
  Result<void> run_rounds(AttendCall call, std::span<const float> sink_logits, unsigned n_sets,
                          const Decode& decode);
  Result<void> run_round(AttendCall call, std::span<const float> sink_logits, unsigned n_sets,
                         const Decode& decode);
  Result<void> decode_round(const AttendCall& call, const Decode& decode);
  void count_decoded();
  std::size_t decoded_most(unsigned n_splits) const;
  Result<void> reserve(Buffer& buffer, std::size_t bytes);

  Device* device_;
  Arguments* arguments_;
  std::size_t decoded_bytes_most_;
  Buffer partials_, counters_, decoded_, basis_queries_, basis_places_, prefill_workspace_;
  PrefillRows prefill_rows_;
  // Of the call; kept for their capacity.
  std::vector<Sequence> decode_, prefill_;
  std::vector<AttendItem> items_;
  std::vector<const CudaLaneTable*> tables_;  // of the items
  // How many pages of an item's lane to decode; at the lane's first item only.
  std::vector<std::size_t> n_decoded_;
  unsigned n_basis_pages_most_ = 0;  // of the items' lanes; 0: none has keys in a basis
  std::vector<double> rotations_;
  std::vector<unsigned> places_;
  std::vector<DecodeArgs> decodes_;
};

}  // namespace satchel::kernels::cuda
