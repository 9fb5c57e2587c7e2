// Rereads: what of a chat its cache has lost, so that what is read can be told from what is read
// again, and why.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/base/index_range.h"
#include "kvcache/snapshot/reread.h"

namespace satchel::runtime {

class Rereads {
 public:
  // The cache had read the text and does not hold it any more.
  void lost(const IndexRange& text, kvcache::RereadReason reason) {
    if (text.begin >= text.end) return;
    const bool is_behind = lost_.end <= text.begin;  // what was lost before has been read
    lost_ = is_behind ? text
                      : IndexRange{.begin = std::min(lost_.begin, text.begin),
                                   .end = std::max(lost_.end, text.end)};
    reason_ = reason;
  }
  // Some of what was lost has not been read since.
  bool waits() const { return lost_.begin < lost_.end; }
  // The chat has no text from position `end` on: what comes there is new.
  void cut(std::size_t end) { lost_.end = std::min(lost_.end, end); }
  // The text went through the model.
  void read(const IndexRange& text) {
    const std::size_t begin = std::max(lost_.begin, text.begin);
    const std::size_t end = std::min(lost_.end, text.end);
    if (begin < end) add({reason_, end - begin});
  }
  void add(const kvcache::Reread& one) { kvcache::add(done_, one); }
  // What was read again since the last report.
  std::vector<kvcache::Reread> take() { return std::exchange(done_, {}); }
  // Of a chat with the same text, which has reported nothing yet.
  Rereads copy() const {
    Rereads other = *this;
    other.done_.clear();
    return other;
  }

 private:
  IndexRange lost_ = {};
  kvcache::RereadReason reason_ = kvcache::RereadReason::none;
  std::vector<kvcache::Reread> done_ = {};
};

}  // namespace satchel::runtime
