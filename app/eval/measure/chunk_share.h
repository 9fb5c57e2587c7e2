// How much of a chunk of text to read again when it stands behind other chunks than it was read
// behind: the more, the more it attended to those, and the fewer of them stand before it now.
//   source   arXiv:2502.15734 (Cache-Craft), its cache context impact, prefix overlap and share
//   differs  attention is the mean over layers and query heads; one saved reading of a chunk, where
//            the paper chooses among several
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::eval {

struct ChunkReading {
  std::size_t n_tokens = 0;
  std::vector<std::size_t> behind;    // chunks that it was read behind, in their order
  std::vector<std::size_t> n_behind;  // their tokens, likewise
  std::vector<double> outside;        // attention to each, summed over the chunk's tokens
  double inside = 0;                  // to its own tokens, likewise
};

// 1/2 where it attended to no other chunk, towards 1 the more it did, token by token.
double context_impact(const ChunkReading& reading);
// Of its attention to other chunks, the part that went to such as stand before it now, less what
// they have changed places: 1 where they are the same in the same order.
double prefix_overlap(const ChunkReading& reading, std::span<const std::size_t> behind_now);
// Of its tokens. `alpha` is the paper's factor; 0 where nothing before it has changed.
double reread_share(const ChunkReading& reading, std::span<const std::size_t> behind_now,
                    double alpha);

}  // namespace satchel::eval
