// Nemotron-H and Nemotron Nano 2: nemotron_hybrid.h.
#include "runtime/model/arch/nemotron_hybrid.h"

namespace satchel::runtime {

extern const Architecture arch_nemotron_h{"nemotron_h", read_nemotron_hybrid,
                                          make_block_graph<kNemotronStyle>};

}  // namespace satchel::runtime
