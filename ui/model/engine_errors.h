// What the window's engine itself refuses or fails at, in words for people; errors of the layers
// below bring their own.
#pragma once

#include <exception>
#include <string>

#include "kernels/base/result.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

// isGpus is for who has the engine to say.
EngineError errorOf(Request request, const Error& error);
Error noModel();
Error noChat();
Error memoryNotOpen();
Error stopped();
// path: of the model that the chat was held with
Error modelMissing(const std::string& path);
Error outOfMemory();
// stranger: what a library threw
Error unexpected(const std::exception& stranger);

}  // namespace satchel::ui
