// What the window's model library works with: the model folder, the estimator, the download.
#pragma once

#include <cstddef>
#include <string>

#include "app/paths.h"
#include "ui/model/model_library.h"

namespace satchel::app {

//   backend, n_threads  as engines are opened with them (EngineOptions)
ui::ModelTools model_tools(const Paths& paths, const std::string& backend, std::size_t n_threads);

}  // namespace satchel::app
