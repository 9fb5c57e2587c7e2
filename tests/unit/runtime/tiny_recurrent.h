// A small LFM2 of random weights with a vocabulary of bytes, for sessions and whole engines: three
// convolutions and two layers of attention.
#pragma once

#include <cstddef>

#include "support/gguf_writer.h"

namespace satchel::runtime {

tests::GgufWriter tiny_lfm2_gguf(std::size_t context = 4096);

}  // namespace satchel::runtime
