// Which edges of the instrumented code (-fsanitize-coverage=trace-pc) an input reached, so that the
// driver keeps inputs that found new ones. Addresses are taken relative to the program, so that a
// seed gives the same walk every time.
#pragma once

#include <cstddef>

namespace satchel::fuzz {

void start_coverage();         // forgets the last input
bool reached_something_new();  // since any start; a loop counts anew at 2, 4, 8 … rounds
std::size_t edges_reached();   // in all inputs

}  // namespace satchel::fuzz
