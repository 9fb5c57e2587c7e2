// JSON that goes to a host.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/c_api/guard.h"

namespace satchel::c_api {

// Names come from files and hosts: what is no UTF-8 in them is replaced.
inline void give_json(satchel_buffer** out, const nlohmann::json& json) {
  give_text(out, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace satchel::c_api
