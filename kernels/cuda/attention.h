// Attention: attend() of the cuda backend, from lane tables to launches. Sequences of few query rows
// go through attend_few(), which has the lanes cut into pieces; those of many rows through ManyRows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/cuda/arguments.h"
#include "kernels/cuda/attend.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/lane_table.h"
#include "kernels/cuda/many_rows.h"

namespace satchel::kernels::cuda {

class Attention {
 public:
  // Reads pages back to fp32, queued; how, only the backend knows.
  using Decode = std::function<Result<void>(std::span<const DecodeArgs>)>;

  // What pages that are read back may take at a time, if one piece of each lane fits. Chosen: small
  // beside a card's memory, and so many pages that reading them back fills it.
  static constexpr std::size_t kDecodedBytesMost = std::size_t{64} << 20;

  Attention(Device& device, Arguments& arguments,
            std::size_t decoded_bytes_most = kDecodedBytesMost)
      : device_(&device), arguments_(&arguments), decoded_bytes_most_(decoded_bytes_most) {}
  std::size_t bytes() const {
    return partials_.size() + counters_.size() + decoded_.size() + many_room_.size() +
           many_rows_.bytes();
  }

  Result<void> attend(const AttendArgs& args, const Decode& decode);

 private:
  // Both: of at least one sequence, none without tokens.
  Result<void> attend_few(const AttendArgs& args, const Decode& decode);
  Result<void> attend_many(const AttendArgs& args, const Decode& decode);
  Result<void> add_sequence(const AttendArgs& args, const Sequence& sequence, unsigned n_sets);
  Result<void> run_rounds(AttendCall call, unsigned n_sets, const Decode& decode);
  Result<void> run_round(AttendCall call, unsigned n_sets, const Decode& decode);
  Result<void> decode_round(const AttendCall& call, const Decode& decode);
  void count_decoded();
  std::size_t decoded_most(unsigned n_pieces) const;
  Result<void> make_room(Buffer& buffer, std::size_t bytes);

  Device* device_;
  Arguments* arguments_;
  std::size_t decoded_bytes_most_;
  Buffer partials_, counters_, decoded_, many_room_;
  ManyRows many_rows_;
  // Of the call; kept for their room.
  std::vector<Sequence> few_, many_;
  std::vector<AttendItem> items_;
  std::vector<const CudaLaneTable*> tables_;  // of the items
  std::vector<std::size_t> n_decoded_;        // pages of an item's lane to be read back, at its first
  std::vector<double> turns_;
  std::vector<unsigned> places_;
  std::vector<DecodeArgs> decodes_;
};

}  // namespace satchel::kernels::cuda
