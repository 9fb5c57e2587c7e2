// The blocks of LFM2, dense and with experts.
#pragma once

#include "runtime/model/block_graph.h"

namespace satchel::runtime {

inline constexpr BlockStyle kLfm2Style{.qk_norm = BlockStyle::QkNorm::of_heads,
                                       .last_norm_is_token_embd_norm = true};

}  // namespace satchel::runtime
