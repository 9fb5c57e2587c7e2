// A question and its answer, as satchel_send, satchel_answer and streams ask it.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/c_api/handles.h"

namespace satchel::c_api {

Result<runtime::Sampling> sampling_of(const satchel_sampling* given);
// message  none: the last one is answered
Result<runtime::GenerateReport> ask(SessionCall& call, std::optional<std::string_view> message,
                                    const runtime::Sampling& sampling);
// Before the call ends.
satchel_result result_of(const runtime::GenerateReport& report, Session& session);

}  // namespace satchel::c_api
