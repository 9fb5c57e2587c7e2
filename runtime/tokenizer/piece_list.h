// PieceList: a list of short texts in one buffer, with four bytes of overhead per text. A vector of
// 262,144 std::strings has 32 and more.
//   views    are invalid after the list changes
//   limit    kBytesMax of text in total
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/assert.h"

namespace satchel::runtime {

class PieceList {
 public:
  static constexpr std::size_t kBytesMax = std::numeric_limits<std::uint32_t>::max();

  PieceList() = default;
  PieceList(std::initializer_list<std::string_view> pieces) { add(pieces); }

  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

  void reserve(std::size_t n_pieces, std::size_t bytes) {
    ends_.reserve(n_pieces);
    text_.reserve(bytes);
  }
  // needs  `piece` is not a view into this list
  void push_back(std::string_view piece) {
    SATCHEL_ASSERT(piece.size() <= kBytesMax - text_.size());
    text_ += piece;
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  void add(std::initializer_list<std::string_view> pieces) {
    for (const std::string_view piece : pieces) push_back(piece);
  }

 private:
  std::string text_;
  std::vector<std::uint32_t> ends_;  // [n] into text_
};

}  // namespace satchel::runtime
