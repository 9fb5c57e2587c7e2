// KeptChat: one chat in the files of a library of its own, which go with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

#include "app/cli/scratch_folder.h"
#include "runtime/engine.h"
#include "storage/store.h"

namespace satchel::eval {

class KeptChat {
 public:
  static Result<std::unique_ptr<KeptChat>> make();
  // Another library of the files as they are now: what is left where the process is killed.
  Result<std::unique_ptr<KeptChat>> left_by_a_kill() const;

  // Has journal and records of the chat put in.
  runtime::SessionOptions kept(runtime::SessionOptions options) const;
  storage::Library& library() const { return store_->library(); }
  runtime::ChatId id() const { return chat_; }
  // Thins what is saved of the chat, as --thin-after does; how many records became smaller. The
  // shelf's copy of its document goes: what is shared with it would stay as it is.
  Result<std::size_t> thin(const std::stop_token& stop) const;
  Result<std::uint64_t> bytes_on_disk() const;
  Result<std::vector<std::filesystem::path>> files() const;
  // As a program's end and the next one's beginning do it. No session may hold the chat; between
  // the two, only files may be asked for.
  void close() { store_.reset(); }
  Result<void> open_again();

 private:
  KeptChat(std::unique_ptr<app::ScratchFolder> folder, std::unique_ptr<storage::Store> store,
           runtime::ChatId chat)
      : folder_(std::move(folder)), store_(std::move(store)), chat_(chat) {}

  std::unique_ptr<app::ScratchFolder> folder_;  // outlives the store
  std::unique_ptr<storage::Store> store_;
  runtime::ChatId chat_;
};

}  // namespace satchel::eval
