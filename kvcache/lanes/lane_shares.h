// LaneShares: where a model keeps what it remembers. The mean share of a text's tokens that each lane
// keeps when the tokens of all lanes compete by KVzip's scores, at a few shares of the whole: nearly a
// constant of a model, whatever the text (docs/recipes.md has how nearly). Or what another rule on
// lanes gives at these shares; `source` names it.
//   lanes   those that take part in a decision (no window), in the cache's order
//   file    JSON, read as recipes are: { "lane_shares": 1, "model": "<fingerprint>", "name": "…",
//           "source": "…", "rows": [ { "keep": 0.5, "lanes": [0.98, …] }, … ] }
//   errors  corrupt, LANE_SHARES: names the file, the line and what would be right
//   source  ours; the scores are those of arXiv:2505.23416 (KVzip), the idea that few heads remember
//           that of arXiv:2407.15891 (RazorAttention) and arXiv:2410.10819 (DuoAttention)
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

inline constexpr std::size_t kLaneSharesBytesMax = 1u << 20;  // of a file; chosen: 25,000 lanes

struct LaneShares {
  struct Row {
    double keep = 0;             // of all tokens of all lanes, (0, 1)
    std::vector<double> shares;  // [lanes that take part], each in [0, 1]
  };
  std::string model;      // fingerprint of its file
  std::string name;       // the model's, for people
  std::string source;     // from what the table was made, for people
  std::vector<Row> rows;  // keep rises

  std::size_t n_lanes() const { return rows.empty() ? 0 : rows.front().shares.size(); }
  // Linear between rows; towards all of every lane above the last, towards nothing below the first.
  //   out  shares [n_lanes()]
  void at(double keep, std::span<double> shares) const;

  static Result<LaneShares> parse(std::string_view json, std::string_view called);
  std::string json() const;
};

}  // namespace satchel::kvcache
