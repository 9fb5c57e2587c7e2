// A model whose every token leads to one other, so that what it says is known.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/engine.h"

namespace satchel::runtime {

// Its tokens beside the 256 bytes.
struct ChainToken {
  static constexpr TokenId end = 257, think = 258, thought = 259, two_lines = 260;
};

struct ChainModel {
  std::map<TokenId, TokenId> next;
  std::string jinja;  // the chat template
  // What has been read is no number from this token on.
  std::optional<TokenId> poison = {};
};
std::unique_ptr<Engine> open_chain(const ChainModel& model);
// All of a chat as its tokens are spelled, marks included.
std::string written(const Engine& engine, const Session& session);

}  // namespace satchel::runtime
