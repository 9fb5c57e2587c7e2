// What a logout, a shutdown or Ctrl-C asks of the window: to close, as its button does.
#pragma once

class QCoreApplication;

namespace satchel::app {

// From now on SIGTERM, SIGHUP and SIGINT end the event loop, so that all is written as at any end.
void end_on_signals(QCoreApplication& application);

}  // namespace satchel::app
