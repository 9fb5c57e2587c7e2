// Ctrl-C stops the answer, not the program; a second one while nothing stops ends it with exit code
// 130.
#pragma once

#include <stop_token>

namespace satchel::app {

// Installs the SIGINT and SIGTERM handlers (once per program). SIGTERM asks to stop and to end.
void catch_interrupts();
// A fresh token for the work that begins now. The next Ctrl-C stops it, and so does an earlier one
// that was not taken.
std::stop_token begin_interruptible();
// Whether Ctrl-C came since the last call of this.
bool take_interrupt();
// SIGTERM, or Ctrl-C twice: end as soon as all is saved.
bool end_asked();

}  // namespace satchel::app
