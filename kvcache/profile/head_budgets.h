// HeadBudgets: the head-budget profile of a model. For a few overall shares it has the mean share
// of tokens that each lane keeps when the tokens of all lanes compete by KVzip's scores. These
// budgets are nearly the same for every text (docs/recipes.md has figures). Other rules can make
// the profile too; `source` names the rule. If it could be learned, the profile also says which
// keys of a lane are important (KeyImportance).
//   lanes   the lanes that take part in decisions (without a window), in the cache's order
//   file    JSON, read as recipes are: { "head_budgets": 2, "model": "<fingerprint>", "name": "…",
//           "source": "…", "rows": [ { "keep": 0.5, "lanes": [0.98, …] }, … ],
//           "worth": { "agreement": 0.7, "lanes": [ [-3.1, 0.02, …], … ] } }; "worth" may be
//           missing
//   errors  corrupt, LANE_SHARES: names the file, the line and the expected value
//   source  ours, with the scores of arXiv:2505.23416 (KVzip). That few heads retrieve:
//           arXiv:2407.15891 (RazorAttention), arXiv:2410.10819 (DuoAttention).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Limit of a file; chosen: 1,400 lanes of keys of 128 values.
inline constexpr std::size_t kHeadBudgetsBytesMax = 4u << 20;
inline constexpr float kKeyWeightMost = 1e6f;  // chosen: sums of such weights stay finite in fp32

// The importance of keys within their lane, from the key alone. It is learned from KVzip's scores
// of a few texts, so that KVzip's second pass is not needed.
//   weights  of kernels::KeyImportanceArgs, for keys before RoPE; fitted to the natural log of
//            KVzip's scores
//   source   arXiv:2601.07891 (KVzap: predicts KVzip's scores from the hidden state)
//   differs  uses the key and its squares only, and is fitted on the user's machine
//            (docs/recipes.md has why)
struct KeyImportance {
  // Held-out agreement, -1 to 1: rank correlation within a lane between KVzip's scores of the last
  // text and weights fitted to the texts before it. Mean over the lanes, weighted by how much
  // choice each has. `lanes` is fitted to all texts.
  double agreement = 0;
  std::vector<std::vector<float>> lanes;  // [lanes that take part][1 + 2 · head_dim]
};

struct HeadBudgets {
  struct Row {
    double keep = 0;             // of all tokens of all lanes, (0, 1)
    std::vector<double> shares;  // [lanes that take part], each in [0, 1]
  };
  std::string model;      // fingerprint of its file
  std::string name;       // the model's name, for people
  std::string source;     // the rule and texts, for people
  std::vector<Row> rows;  // keep rises
  std::optional<KeyImportance> importance = std::nullopt;

  std::size_t n_lanes() const { return rows.empty() ? 0 : rows.front().shares.size(); }
  // Interpolates linearly between rows: above the last row towards all of every lane, below the
  // first towards nothing.
  //   out  shares [n_lanes()]
  void at(double keep, std::span<double> shares) const;

  static Result<HeadBudgets> parse(std::string_view json, std::string_view called);
  std::string json() const;
};

}  // namespace satchel::kvcache
