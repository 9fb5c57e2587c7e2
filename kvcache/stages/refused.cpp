#include "kvcache/stages/registry.h"

namespace satchel::kvcache {

std::span<const RefusedStage> refused_stages() {
  static constexpr RefusedStage kRefused[] = {
      {StageKind::scorer, "attention_gate", "attention-gate", "arXiv:2410.12876",
       "The scorer \"attention_gate\" needs gates that were trained together with the model "
       "(arXiv:2410.12876). Satchel knows of none for any model, so its recipe is listed and "
       "cannot be used. The recipe \"compactor\" also chooses by the text alone, and needs no "
       "training."},
      {StageKind::scorer, "lococo", "lococo", "arXiv:2406.05317",
       "The scorer \"lococo\" needs convolutions that were trained together with the model "
       "(arXiv:2406.05317). Satchel knows of none for any model, and its mergers take no trained "
       "weights, so its recipe is listed and cannot be used. The recipe \"h2o\" is what it is "
       "without them."},
      {StageKind::codec, "minicache", "", "arXiv:2405.14366",
       "The codec minicache needs pages of two layers, which this cache does not make. \"satchel "
       "eval agreement --merge-layers\" measures what it would cost."},
  };
  return kRefused;
}

Error RefusedStage::error() const {
  return {ErrorKind::unsupported, kind == StageKind::codec ? "CODEC_NEEDS" : "SELECTOR_WEIGHTS",
          std::string(why)};
}

}  // namespace satchel::kvcache
