// KvPrediction: linear maps that predict keys and values of a model's upper layers from what its
// lower layers make of a text (KV Prediction with a part of the model as the auxiliary model).
//   runs    tokens go through these layers only. Those before the first gap are exact. Every layer
//           behind it gets keys (before RoPE) and values from the last layer at or before it that
//           runs: of its keys and of its values, as in the paper, or both of the hidden state
//           behind it, normed to a mean square of 1 (ours).
//   file    little endian: "SATCHELP", u32 version 1, u32 layers, u32 input (0: keys and values, 1:
//           hidden), three texts (model, name, source: u32 length, bytes); per layer u8 runs, and
//           behind the first gap two maps, of keys and of values: u32 outputs, u32 inputs, the
//           matrix [outputs, inputs] and the bias [outputs] as fp16; xxh3-128 of all before
//   errors  corrupt, KV_PREDICTION: names the file, the offset of the damage, and what to do
//   source  arXiv:2410.08391 (KVP-LP) and its code: layer i of the base model from layer j(i) of
//           the auxiliary one, keys from keys and values from values, each by a matrix and a bias
//   differs the paper trains auxiliary model and maps together; here the model stays as it is, and
//           the maps are found by ridge regression (prediction_calibration.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/model/config.h"

namespace satchel::eval {

inline constexpr std::size_t kPredictionBytesMax = std::size_t{512} << 20;  // chosen
inline constexpr std::size_t kPredictionTextMax = 4096;    // bytes of each text; chosen
inline constexpr std::size_t kPredictionLayersMax = 1024;  // chosen
inline constexpr std::size_t kPredictionWidthMax = 65536;  // of a map; chosen

// y = matrix · x + bias
struct LinearMap {
  std::size_t n_out = 0, n_in = 0;
  std::vector<float> matrix, bias;  // [n_out, n_in], [n_out]
};

struct KvPrediction {
  enum class Input : std::uint32_t { keys_values = 0, hidden = 1 };
  struct Layer {
    bool runs = false;
    LinearMap k = {}, v = {};  // no outputs: the layer is exact
    bool is_made() const { return k.n_out != 0; }
  };
  std::string model;   // fingerprint of its file
  std::string name;    // the model's name, for people
  std::string source;  // the texts they were made from, for people
  Input input = Input::keys_values;
  std::vector<Layer> layers;  // all of the model

  std::size_t n_run() const;
  // The last layer at or before it that runs.
  std::size_t source_of(std::size_t layer) const;
  // Rounds to fp16, as a file has it. Errors: a value is no number.
  static Result<KvPrediction> make(KvPrediction of);
  // Safe for arbitrary bytes. All values of the result are finite.
  static Result<KvPrediction> parse(std::string_view bytes, std::string_view called);
  std::string bytes() const;
  // Error where it is another model's, or its sizes are not the model's.
  Result<void> check(const runtime::ModelConfig& config, std::string_view fingerprint) const;
};

}  // namespace satchel::eval
