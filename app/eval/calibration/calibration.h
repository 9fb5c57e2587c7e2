// Computes a model's key bases (kvcache::KeyBases): prefills a few texts exactly and fits
// coordinates to each lane's keys (KeyBasisFit), including layers with a window.
//   needs   exclusive use of the Engine
//   memory  an exact cache of kCalibrationTokens, one layer's queries and keys, and KeyBasisFit
//   errors  PARAM (a text too short), KEY_BASES (unsupported: keys too long or too many lanes;
//           corrupt: matrices without an inverse), MEMORY, CACHE_FULL, cancelled/STOPPED, those of
//           tokenizer and model
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/eval/lane_rules/lane_rule.h"
#include "kvcache/profile/key_bases.h"

namespace satchel::eval {

inline constexpr std::size_t kCalibrationTokens = 2048;  // of each text, at most; chosen

struct Calibration {
  kvcache::KeyBases bases;
  std::vector<double> gains;  // KeyBasis::gain_bits [lanes]
  struct Text {
    std::string name;
    std::size_t n_tokens = 0;
  };
  std::vector<Text> texts;  // in order of prefill
  double mean_gain() const;
};
// The first kCalibrationTokens of search.texts, or of profile_texts() where these are empty.
struct CalibrationText {
  std::string name;
  std::vector<std::int32_t> ids;
};
Result<std::vector<CalibrationText>> calibration_texts(const LaneSearch& search);
Result<Calibration> calibrate(const LaneSearch& search);

// The same with KeyBases::values. Key bases that the engine has stay as they are, so that saved
// caches stay valid, and gains is empty then; else they are computed too.
//   errors  also KEY_BASES (unsupported): the values of a latent layer are its keys
struct ValueCalibration {
  Calibration with;
  // Of a value's variance in its page the part that its coordinates of the first fifth hold: what
  // the codec cskv keeps. Mean over the lanes.
  double share_of_fifth = 0;
};
Result<ValueCalibration> calibrate_values(const LaneSearch& search);

}  // namespace satchel::eval
