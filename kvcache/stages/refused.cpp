#include "kvcache/stages/registry.h"

namespace satchel::kvcache {

std::span<const RefusedStage> refused_stages() {
  static constexpr RefusedStage kRefused[] = {
      {StageKind::codec, "minicache", "arXiv:2405.14366",
       "The codec minicache needs pages of two layers, which this cache does not make. \"satchel "
       "eval agreement --merge-layers\" measures what it would cost."},
  };
  return kRefused;
}

Error RefusedStage::error() const {
  return {ErrorKind::unsupported, "CODEC_NEEDS", std::string(why)};
}

}  // namespace satchel::kvcache
