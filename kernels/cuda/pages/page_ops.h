// PageOps: Backend's encode_pages and decode_pages. Kernels handle the known operands (pages.h).
// Those with an OperandCode are encoded and decoded by its loops in main memory, page by page.
#pragma once

#include <span>
#include <utility>

#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/pages/basis_store.h"
#include "kernels/cuda/pages/pages.h"

namespace satchel::kernels::cuda {

class PageOps {
 public:
  static Result<PageOps> make(Device& device);
  std::size_t bytes() const { return bases_.bytes() + work_.size() + counts_.size(); }

  Result<void> encode(std::span<const EncodeArgs> items, Arguments& arguments);
  Result<void> decode(std::span<const DecodeArgs> items, Arguments& arguments);
  BasisStore& bases() { return bases_; }
  // The numeric warnings since the last call; waits for queued work.
  Result<NumericWarnings> take_warnings();

 private:
  PageOps(Device& device, Buffer counts)
      : device_(&device), bases_(device), counts_(std::move(counts)) {}
  Result<PagePlan> plan_of(const PageLayout& layout);
  Result<void> pack(std::span<const EncodeItem> items, const PackShape& shape,
                    Arguments& arguments);
  Result<void> encode_coded(const EncodeArgs& args, Operand which);
  Result<void> decode_coded(const DecodeArgs& args, Operand which);

  Device* device_;
  BasisStore bases_;
  Buffer counts_, work_;  // PageCounts; pages.h
  NumericWarnings in_main_memory_;
};

}  // namespace satchel::kernels::cuda
