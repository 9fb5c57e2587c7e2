// F1: every write, sync, truncate, open, delete and mapping fails, once and for ever.
// docs/reliability.md: acked entries are there, equal and in order (J1), others whole
// or absent (J2), the files are sound (J3), and the next message goes in (J6).
#include <gmock/gmock.h>

#include <algorithm>

#include "failing_vfs.h"
#include "fixtures.h"
#include "storage/sqlite/connection.h"
#include "support/sanitized.h"

namespace satchel::storage {
namespace {
using runtime::MessageState;
using runtime::Role;

constexpr int kCallsMax = 2000;
constexpr const char* kKey = "x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'";

// What was tried, and what of it was said to be saved. Texts are all different.
struct Ledger {
  ChatId chat;
  std::vector<std::string> tried, acked;
  std::uint64_t generation = 0;  // of the manifest said to be saved
  bool cut = false;              // a cut may be left that could not be taken back
  int n_failed = 0;              // steps that failed even when tried three times
};

class Script {
 public:
  Script(Store& store, StandingClock& clock, Ledger& ledger)
      : store_(store), clock_(clock), ledger_(ledger) {}

  void run() {
    if (!stubbornly([&] { return make_chat(); })) return;
    message("user 1");
    answer("answer 1");
    snapshot(1);
    message("user 2");
    cut_and_bring_back();
    say_instead_and_bring_back();
    answer("answer 2");
    document("document", "Noted.");
    snapshot(2);
    (void)stubbornly([&] { return store_.library().set_setting("key", "value").ok(); });
  }

 private:
  template <class Step>
  bool stubbornly(Step step) {
    const bool done = step() || step() || step();
    if (!done) ++ledger_.n_failed;
    return done;
  }

  bool make_chat() {
    const auto made = store_.library().create_chat(named("chat"));
    if (made.ok()) {
      ledger_.chat = made.value();
      return true;
    }
    if (made.error().code != "CHAT_EXISTS") return false;
    ledger_.chat = must(store_.library().find_chat("chat"))->id;  // the first try arrived after all
    return true;
  }

  void message(const std::string& text) {
    ledger_.tried.push_back(text);
    const std::vector<std::int32_t> tokens(text.begin(), text.end());
    const auto step = [&] {
      return store_.library()
          .append(ledger_.chat, {Role::user, MessageState::complete, text, tokens})
          .ok();
    };
    if (stubbornly(step)) ledger_.acked.push_back(text);
  }

  // Two messages that go in together or not at all.
  void document(const std::string& text, const std::string& noted) {
    const std::vector<std::int32_t> a(text.begin(), text.end()), b(noted.begin(), noted.end());
    const std::vector<runtime::NewMessage> both = {
        {.role = Role::user, .text = text, .tokens = a},
        {.role = Role::assistant, .text = noted, .tokens = b}};
    for (const auto& one : both) ledger_.tried.emplace_back(one.text);
    if (!stubbornly([&] { return store_.library().append_all(ledger_.chat, both).ok(); })) return;
    for (const auto& one : both) ledger_.acked.emplace_back(one.text);
  }

  // Whatever fails in between, all messages are there again in the end.
  void cut_and_bring_back() {
    const auto found = store_.library().messages(ledger_.chat);
    if (!found.ok() || found.value().size() < 2) return;
    const MessageId first = found.value().front().id, last = found.value().back().id;
    const bool cut =
        stubbornly([&] { return store_.library().truncate(ledger_.chat, first).ok(); });
    if (!cut || !stubbornly([&] { return store_.library().truncate(ledger_.chat, last).ok(); }))
      ledger_.cut = true;
  }

  // What fails leaves the whole chat, never one that only was cut.
  void say_instead_and_bring_back() {
    const auto before = store_.library().messages(ledger_.chat);
    if (!before.ok() || before->size() < 2) return;
    const std::string_view text = "other words";
    const std::vector<std::int32_t> tokens(text.begin(), text.end());
    const runtime::NewMessage other{.role = Role::user, .text = text, .tokens = tokens};
    const MessageId first = before->front().id, last = before->back().id;
    const bool said = stubbornly([&] {
      const bool done =
          store_.library().append_behind(ledger_.chat, first, std::span(&other, 1), nullptr).ok();
      if (const auto now = store_.library().messages(ledger_.chat); !done && now.ok()) {
        const bool has_arrived = now->size() == 2 && now->back().text == text;
        EXPECT_TRUE(has_arrived || now->size() == before->size());
      }
      return done;
    });
    if (!said || !stubbornly([&] { return store_.library().truncate(ledger_.chat, last).ok(); }))
      ledger_.cut = true;  // what failed may have arrived after all
  }

  void answer(const std::string& text) {
    MessageId id;
    const auto begin = [&] {
      const auto made =
          store_.library().append(ledger_.chat, {Role::assistant, MessageState::streaming, "", {}});
      if (made.ok()) id = made.value();
      return made.ok();
    };
    ledger_.tried.push_back(text);
    if (!stubbornly(begin)) return;
    std::string said;
    for (const char letter : text) {
      clock_.steady += kStreamMsMax;  // each piece is due at once
      const std::int32_t token = letter;
      const std::string_view piece(&letter, 1);
      const auto extend = [&] { return store_.library().extend(id, piece, {&token, 1}).ok(); };
      if (stubbornly(extend)) said += letter;
    }
    (void)stubbornly([&] { return store_.library().flush().ok(); });
    if (said != text) ledger_.tried.back() = said;
    const auto end = [&] {
      return store_.library().finish(id, MessageState::complete, "", {}).ok();
    };
    if (stubbornly(end)) ledger_.acked.push_back(said);
  }

  void snapshot(std::uint64_t generation) {
    KvStore* kv = store_.kv();
    if (kv == nullptr) return;
    const kvcache::RecordId id = generation;
    const auto bytes = bytes_of(40'000, static_cast<unsigned>(generation));
    const std::vector<kvcache::RecordId> live = {id};
    if (!stubbornly([&] { return kv->put_record(key_of(ledger_.chat), id, bytes).ok(); })) return;
    const auto commit = [&] {
      const auto done =
          kv->commit(key_of(ledger_.chat),
                     {.generation = generation, .manifest = bytes_of(10, 0), .live = live});
      return done.ok() || done.error().code == "GENERATION";  // the first try arrived after all
    };
    if (stubbornly(commit)) ledger_.generation = generation;
  }

  Store& store_;
  StandingClock& clock_;
  Ledger& ledger_;
};

// Acked ones in order; between them only what was tried, each once. An answer may be cut.
void check_messages(const std::vector<runtime::StoredMessage>& found, const Ledger& ledger) {
  std::vector<std::string> whole;
  for (const auto& message : found) {
    EXPECT_EQ(std::string(message.tokens.begin(), message.tokens.end()), message.text);
    if (message.state == MessageState::complete) whole.push_back(message.text);
  }
  if (ledger.cut) return;
  EXPECT_EQ(std::count(whole.begin(), whole.end(), "document"),
            std::count(whole.begin(), whole.end(), "Noted."));
  for (const std::string& text : ledger.acked)
    EXPECT_EQ(std::count(whole.begin(), whole.end(), text), 1) << text;
  for (const std::string& text : whole)
    EXPECT_EQ(std::count(ledger.tried.begin(), ledger.tried.end(), text), 1) << text;
  std::erase_if(whole, [&](const std::string& text) {
    return std::find(ledger.acked.begin(), ledger.acked.end(), text) == ledger.acked.end();
  });
  EXPECT_EQ(whole, ledger.acked);
}

void check_cache(KvStore& kv, const Ledger& ledger) {
  const auto manifest = must(kv.newest_manifest(key_of(ledger.chat)));
  const std::uint64_t generation = manifest ? manifest->generation : 0;
  EXPECT_GE(generation, ledger.generation);
  if (generation > 0) {
    EXPECT_EQ(must(kv.record(key_of(ledger.chat), generation)),
              bytes_of(40'000, static_cast<unsigned>(generation)));
  }
}

struct Fault {
  FailingVfs::How how;
  FailingVfs::Then then;
  FailingVfs::Memory memory = FailingVfs::Memory::shared;
  std::string key = {};
};

void expect_sound(const std::filesystem::path& file, Content content, const std::string& key) {
  if (key.empty()) {
    EXPECT_EQ(integrity(file), "ok");
    return;
  }
  const auto checked =
      must(Connection::open({file, Access::read_only, content, {}, key})).quick_check();
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

void check_reopened(const TempFolder& folder, const Ledger& ledger, const std::string& key) {
  {
    const auto store = open_store(folder, {.key = key});
    EXPECT_FALSE(store->library().report().read_only.has_value());
    if (ledger.chat.value != 0) {
      check_messages(must(store->library().messages(ledger.chat)), ledger);
      if (store->kv() != nullptr) check_cache(*store->kv(), ledger);
      say(store->library(), ledger.chat, "next");
    }
  }
  expect_sound(folder / "data/library.db", Content::library, key);
  expect_sound(folder / "cache/kvcache.db", Content::cache, key);
}

// One run with the n-th call failing. True if n lay past the last call.
bool walk(FailingVfs& vfs, const Fault& fault, int n) {
  const TempFolder folder(Place::memory);
  StandingClock clock;
  Ledger ledger;
  vfs.fail_at(n, fault.how, fault.then);
  {
    const StoreOptions options{.clock = &clock, .vfs = vfs.name(), .key = fault.key};
    auto opened = try_store(folder, options);
    if (!opened.ok() && fault.then == FailingVfs::Then::once) opened = try_store(folder, options);
    if (opened.ok()) Script(*opened.value(), clock, ledger).run();
    const bool writes = opened.ok() && !opened.value()->library().report().read_only;
    if (writes && fault.then == FailingVfs::Then::once) {
      EXPECT_EQ(ledger.n_failed, 0) << "a single failure is over after another try";
    }
  }
  vfs.stop_failing();
  check_reopened(folder, ledger, fault.key);
  return !vfs.has_failed();
}

std::string name_of_fault(const testing::TestParamInfo<Fault>& row) {
  static constexpr const char* kThens[] = {"once", "thrice", "always"};
  return std::string(row.param.key.empty() ? "" : "encrypted_") +
         std::string(row.param.memory == FailingVfs::Memory::none ? "network_" : "") +
         (row.param.how == FailingVfs::How::full ? "full_" : "io_error_") +
         kThens[static_cast<std::size_t>(row.param.then)];
}

class EveryFault : public testing::TestWithParam<Fault> {};

TEST_P(EveryFault, of_a_call_to_the_disk_loses_nothing_that_was_said_to_be_saved) {
  if (!GetParam().key.empty() && !Store::can_encrypt())
    GTEST_SKIP() << "SQLite is not SQLCipher (SATCHEL_SQLCIPHER)";
  FailingVfs vfs("failing", GetParam().memory);
  constexpr int kStep = test::kSanitized ? 3 : 1;  // every call fails once, without sanitizers
  for (int n = 0; n < kCallsMax; n += kStep) {
    SCOPED_TRACE("call " + std::to_string(n));
    const bool past_the_last = walk(vfs, GetParam(), n);
    if (HasFailure()) return;
    if (past_the_last) {
      RecordProperty("faults", n / kStep);
      EXPECT_GT(n, 50);
      return;
    }
  }
  FAIL() << "the script makes more than " << kCallsMax << " calls";
}

INSTANTIATE_TEST_SUITE_P(
    Disk, EveryFault,
    testing::Values(
        Fault{FailingVfs::How::io_error, FailingVfs::Then::once},
        Fault{FailingVfs::How::io_error, FailingVfs::Then::thrice},
        Fault{FailingVfs::How::io_error, FailingVfs::Then::always},
        Fault{FailingVfs::How::full, FailingVfs::Then::once},
        Fault{FailingVfs::How::full, FailingVfs::Then::always},
        Fault{FailingVfs::How::io_error, FailingVfs::Then::once, FailingVfs::Memory::none},
        Fault{FailingVfs::How::full, FailingVfs::Then::always, FailingVfs::Memory::none},
        Fault{FailingVfs::How::io_error, FailingVfs::Then::once, FailingVfs::Memory::shared, kKey},
        Fault{FailingVfs::How::full, FailingVfs::Then::always, FailingVfs::Memory::shared, kKey}),
    name_of_fault);

TEST(Fault, that_is_over_after_the_start_is_over_for_the_store) {
  FailingVfs vfs("failing");
  int n_read_only = 0, n = 0;
  for (bool has_failed = true; has_failed;) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    {
      const auto store = open_store(folder);
      const ChatId chat = must(store->library().create_chat(named("a")));
      must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
    }
    vfs.fail_at(n++, FailingVfs::How::full, FailingVfs::Then::once);
    const auto store = open_store(folder, {.vfs = vfs.name()});
    has_failed = vfs.has_failed();
    vfs.stop_failing();
    n_read_only += store->library().report().read_only ? 1 : 0;
    KvStore* const early = store->kv();  // a session may have it already
    say(store->library(), {1}, "hello");
    EXPECT_FALSE(store->library().report().read_only.has_value());
    ASSERT_NE(store->kv(), nullptr) << store->cache_notice();
    EXPECT_TRUE(early == nullptr || early == store->kv());
    must(store->kv()->put_record(key_of({1}), 1, bytes_of(10, 1)));
    EXPECT_EQ(must(store->kv()->record(key_of({1}), 1)), bytes_of(10, 1));
    ASSERT_LT(n, kCallsMax);
  }
  testing::Test::RecordProperty("faults", n - 1);
  EXPECT_GT(n_read_only, 0);
}

TEST(Fault, of_an_erasure_leaves_a_whole_cache_or_none) {
  FailingVfs vfs("failing");
  const std::vector<kvcache::RecordId> live = {0, 1, 2};
  int n = 0;
  for (bool has_failed = true; has_failed; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    {
      const auto store = open_store(folder, {.vfs = vfs.name()});
      const ChatId chat = must(store->library().create_chat(named("a")));
      for (const kvcache::RecordId id : live)
        must(store->kv()->put_record(key_of(chat), id, bytes_of(40'000, 1)));
      must(store->kv()->commit(key_of(chat), {.generation = 1, .live = live}));
      vfs.fail_at(n, FailingVfs::How::full, FailingVfs::Then::always);
      (void)store->kv()->drop_chat(chat);
      has_failed = vfs.has_failed();
      vfs.stop_failing();
    }
    const auto store = open_store(folder);
    const auto manifest = must(store->kv()->newest_manifest(key_of({1})));
    for (const kvcache::RecordId id : live)
      if (manifest) must(store->kv()->record(key_of({1}), id));
    must(store->kv()->drop_chat({1}));  // what was left goes now
    EXPECT_EQ(record_bytes(*store->kv()), 0u);
    ASSERT_LT(n, kCallsMax);
  }
  testing::Test::RecordProperty("faults", n - 1);
}

TEST(Fault, a_damaged_or_newer_library_is_not_tried_again) {
  const TempFolder folder(Place::memory);
  open_store(folder);
  std::string newer = read_file(folder / "data/library.db");
  newer[63] = 99;  // the low byte of user_version
  write_file(folder / "data/library.db", newer);
  const auto store = open_store(folder);
  EXPECT_EQ(code_of(store->library().create_chat(named("x"))), "SCHEMA_NEWER");
  EXPECT_EQ(code_of(store->library().create_chat(named("x"))), "SCHEMA_NEWER");
  EXPECT_EQ(read_file(folder / "data/library.db"), newer);
}

TEST(Fault, after_a_failed_sync_the_file_is_opened_again_and_not_synced_again) {
  FailingVfs vfs("failing");
  const TempFolder folder(Place::memory);
  const auto store = open_store(folder, {.vfs = vfs.name()});
  const ChatId chat = must(store->library().create_chat(named("a")));
  const int n_opened = vfs.n_opened();
  say(store->library(), chat, "one");
  EXPECT_EQ(vfs.n_opened(), n_opened);
  for (int n = 0; n < 100; ++n) {  // the sync is among the calls of one append
    vfs.fail_at(n, FailingVfs::How::io_error, FailingVfs::Then::once);
    const auto refused =
        store->library().append(chat, {Role::user, MessageState::complete, "two", {}});
    if (refused.ok()) break;
    EXPECT_EQ(code_of(refused), "STORAGE");
    const int n_before = vfs.n_opened();
    EXPECT_EQ(must(store->library().messages(chat)).size(), 1u);
    EXPECT_GT(vfs.n_opened(), n_before);
  }
  EXPECT_EQ(texts(store->library(), chat), (std::vector<std::string>{"one", "two"}));
}

TEST(Fault, a_full_disk_is_called_so_and_the_text_stays_with_the_caller) {
  FailingVfs vfs("failing");
  const TempFolder folder(Place::memory);
  const auto store = open_store(folder, {.vfs = vfs.name()});
  const ChatId chat = must(store->library().create_chat(named("a")));
  vfs.fail_at(0, FailingVfs::How::full, FailingVfs::Then::always);
  const auto refused =
      store->library().append(chat, {Role::user, MessageState::complete, "words", {}});
  EXPECT_EQ(code_of(refused), "DISK_FULL");
  EXPECT_EQ(code_of(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0))), "DISK_FULL");
  vfs.stop_failing();
  say(store->library(), chat, "words");
  EXPECT_EQ(texts(store->library(), chat), std::vector<std::string>{"words"});
}

}  // namespace
}  // namespace satchel::storage
