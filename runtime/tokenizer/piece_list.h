// PieceList: many short texts in one stretch of memory, found by their place: four bytes a text
// beside its own, where a vocabulary of 262,144 std::strings takes 32 and more.
//   views    die when the list changes
//   limit    kBytesMax of text in all
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
  // needs  a piece that is no view of this list
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
