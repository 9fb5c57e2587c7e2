// LaneShares: where a model keeps what it remembers. The mean share of a text's tokens that each lane
// keeps when the tokens of all lanes compete by KVzip's scores, at a few shares of the whole: nearly a
// constant of a model, whatever the text (docs/recipes.md has how nearly). Or what another rule on
// lanes gives at these shares; `source` names it. And, where it could be learned, which keys of a lane
// those are (KeyWorth).
//   lanes   those that take part in a decision (no window), in the cache's order
//   file    JSON, read as recipes are: { "lane_shares": 2, "model": "<fingerprint>", "name": "…",
//           "source": "…", "rows": [ { "keep": 0.5, "lanes": [0.98, …] }, … ],
//           "worth": { "agreement": 0.7, "lanes": [ [-3.1, 0.02, …], … ] } }; "worth" may be missing
//   errors  corrupt, LANE_SHARES: names the file, the line and what would be right
//   source  ours; the scores are those of arXiv:2505.23416 (KVzip), the idea that few heads remember
//           that of arXiv:2407.15891 (RazorAttention) and arXiv:2410.10819 (DuoAttention)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Of a file; chosen: 1,400 lanes of keys of 128 values.
inline constexpr std::size_t kLaneSharesBytesMax = 4u << 20;
inline constexpr float kKeyWeightMost = 1e6f;  // chosen: sums of such weights stay finite in fp32

// What a key is worth in its lane, by the key alone: learned from the scores that KVzip's second
// reading gave the keys of a few texts, so that no second reading is needed.
//   weights  of kernels::KeyWorthArgs, keys before RoPE; the natural log of KVzip's score is what
//            they were fitted to
//   source   arXiv:2601.07891 (KVzap: surrogates of KVzip's scores from the hidden state)
//   differs  from the key alone, with squares, fitted in the user's memory (docs/recipes.md has why)
struct KeyWorth {
  // With KVzip's scores of the last text, of what the texts before it taught (the weights are of all):
  // rank correlation in a lane, mean over the lanes by how much choice they have. -1 to 1.
  double agreement = 0;
  std::vector<std::vector<float>> lanes;  // [lanes that take part][1 + 2 · head_dim]
};

struct LaneShares {
  struct Row {
    double keep = 0;             // of all tokens of all lanes, (0, 1)
    std::vector<double> shares;  // [lanes that take part], each in [0, 1]
  };
  std::string model;      // fingerprint of its file
  std::string name;       // the model's, for people
  std::string source;     // from what the table was made, for people
  std::vector<Row> rows;  // keep rises
  std::optional<KeyWorth> worth = std::nullopt;

  std::size_t n_lanes() const { return rows.empty() ? 0 : rows.front().shares.size(); }
  // Linear between rows; towards all of every lane above the last, towards nothing below the first.
  //   out  shares [n_lanes()]
  void at(double keep, std::span<double> shares) const;

  static Result<LaneShares> parse(std::string_view json, std::string_view called);
  std::string json() const;
};

}  // namespace satchel::kvcache
