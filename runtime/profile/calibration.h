// Makes a model's key bases (kvcache::KeyBases): reads a few texts exactly and fits the coordinates of
// each lane's keys (KeyBasisFit), layers with a window included.
//   needs   an Engine that nobody else uses meanwhile
//   memory  an exact cache of kCalibrationTokens, one layer's queries and keys, what KeyBasisFit holds
//   errors  PARAM (a text too short), KEY_BASES (unsupported: keys too long or too many lanes; corrupt:
//           matrices without an inverse), MEMORY, CACHE_FULL, cancelled/STOPPED, those of tokenizer and
//           model
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kvcache/lanes/key_bases.h"
#include "runtime/profile/rules/lane_rule.h"

namespace satchel::runtime {

inline constexpr std::size_t kCalibrationTokens = 2048;  // of each text, at most; chosen

struct Calibration {
  kvcache::KeyBases bases;
  std::vector<double> gains;  // KeyBasis::gain_bits [lanes]
  struct Text {
    std::string name;
    std::size_t n_tokens = 0;
  };
  std::vector<Text> texts;  // as they were read
  double mean_gain() const;
};
// search.texts empty: profile_texts().
Result<Calibration> calibrate(const LaneSearch& search);

}  // namespace satchel::runtime
