// The chain model of tests/support, opened.
#pragma once

#include <memory>
#include <string>

#include "runtime/engine.h"
#include "support/chain_model.h"

namespace satchel::runtime {

using test::ChainModel;
using test::ChainToken;

std::unique_ptr<Engine> open_chain(const ChainModel& model);
// All of a chat as its tokens are spelled, marks included.
std::string written(const Engine& engine, const Session& session);

}  // namespace satchel::runtime
