// The sentencepiece model that a vocabulary describes, as bytes the sentencepiece library loads.
//   why     GGUF keeps a vocabulary's pieces but not the model file; Debian's package brings no
//           protobuf headers, so the few fields are written by hand
//   safe    the library gets only what is written here from checked fields, never a foreign file
//   source  sentencepiece's sentencepiece_model.proto (field numbers)
#pragma once

#include <string>

#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

// needs a sentencepiece vocabulary that check_and_mend accepted
std::string sentencepiece_model(const Vocabulary& vocabulary);

}  // namespace satchel::runtime
