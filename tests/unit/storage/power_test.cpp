// F3: the power goes at any moment. docs/reliability.md: what was said to be saved is there, equal
// and in order (J1), the rest whole or absent (J2), the files are sound (J3), no bad record is used
// (J4), and the next message goes in (J6).
//   sampled by a seed; SATCHEL_ALL_POWER_CUTS=1 tries every moment in every way
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>

#include "fixtures.h"
#include "power_vfs.h"
#include "storage/sqlite/connection.h"
#include "support/source_dir.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using runtime::MessageState;
using runtime::Role;

constexpr std::uint64_t kSeed = 20261127;
constexpr std::size_t kSampled = 80;  // of each script, in the normal run
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

// Moments are numbers of events: when it was begun, and when it was said to be done.
struct Step {
  std::size_t began = 0, done = kNever;
  bool is_done_at(std::size_t cut) const { return done <= cut; }
  bool is_begun_at(std::size_t cut) const { return began <= cut; }
};
struct Said : Step {
  std::string text;
};
struct Saved : Step {
  std::uint64_t generation = 0;
};
struct ChatLedger {
  ChatId id;
  std::vector<Said> messages;
  std::vector<Saved> caches;
  Step deletion{.began = kNever};
};
struct Backup : Step {
  std::string name;
  std::size_t n_messages = 0;
};
struct Ledger {
  std::map<std::string, ChatLedger> chats;
  std::vector<Backup> backups;
  // A cache was saved, and then kvcache.db itself was synced: from now on caches may be older, but
  // not gone.
  std::size_t caches_are_firm = kNever;
};

std::vector<std::byte> record_of(ChatId chat, std::uint64_t generation) {
  return bytes_of(40'000,
                  static_cast<unsigned>(chat.value * 1000) + static_cast<unsigned>(generation));
}

// What a person does, taken down.
class Script {
 public:
  Script(const TempFolder& folder, PowerVfs& vfs, Ledger& ledger, std::uint64_t quota = kQuotaBytes)
      : folder_(folder), vfs_(vfs), ledger_(ledger), quota_(quota) {
    open();
  }
  Store& store() { return *store_; }
  void open() {
    store_ = open_store(folder_, {.clock = &clock_, .quota_bytes = quota_, .vfs = vfs_.name()});
  }
  void close() { store_.reset(); }

  void chat(const std::string& name) {
    ledger_.chats[name].id = must(store_->library().create_chat(named(name)));
  }
  void message(const std::string& name, const std::string& text) {
    ChatLedger& chat = ledger_.chats[name];
    Said said{{.began = vfs_.now()}, text};
    say(store_->library(), chat.id, text, {text.begin(), text.end()});
    said.done = vfs_.now();
    chat.messages.push_back(said);
  }
  void answer(const std::string& name, const std::string& text) {
    ChatLedger& chat = ledger_.chats[name];
    Said said{{.began = vfs_.now()}, text};
    const MessageId id = begin_answer(store_->library(), chat.id);
    for (const char letter : text) {
      clock_.steady += kStreamMsMax;  // each piece is due at once
      const std::int32_t token = letter;
      must(store_->library().extend(id, {&letter, 1}, {&token, 1}));
    }
    must(store_->library().finish(id, MessageState::complete, "", {}));
    said.done = vfs_.now();
    chat.messages.push_back(said);
  }
  void save(const std::string& name, std::uint64_t generation) {
    ChatLedger& chat = ledger_.chats[name];
    Saved saved{{.began = vfs_.now()}, generation};
    const std::vector<kvcache::RecordId> live = {generation};
    must(store_->kv()->put_record(key_of(chat.id), generation, record_of(chat.id, generation)));
    must(store_->kv()->commit(
        key_of(chat.id), {.generation = generation, .manifest = bytes_of(300, 1), .live = live}));
    saved.done = vfs_.now();
    chat.caches.push_back(saved);
  }
  void resume(const std::string& name) {
    const ChatId id = ledger_.chats[name].id;
    const auto manifest = must(store_->kv()->newest_manifest(key_of(id)));
    ASSERT_TRUE(manifest.has_value());
    EXPECT_EQ(must(store_->kv()->record(key_of(id), manifest->generation)),
              record_of(id, manifest->generation));
  }
  void delete_now(const std::string& name) {
    ChatLedger& chat = ledger_.chats[name];
    chat.deletion.began = vfs_.now();
    must(store_->delete_now(chat.id));
    chat.deletion.done = vfs_.now();
  }
  void back_up() {
    Backup backup{{.began = vfs_.now()}, "", 0};
    const fs::path file = must(store_->back_up(folder_ / "backups"));
    backup.name = "backups/" + file.filename().string();
    for (const auto& [name, chat] : ledger_.chats) backup.n_messages += chat.messages.size();
    backup.done = vfs_.now();
    ledger_.backups.push_back(backup);
  }

 private:
  const TempFolder& folder_;
  PowerVfs& vfs_;
  Ledger& ledger_;
  std::uint64_t quota_;
  StandingClock clock_;
  std::unique_ptr<Store> store_;
};

// What was found after cuts.
struct Findings {
  std::size_t n_cuts = 0;
  std::size_t not_opened = 0, unsound = 0, not_written = 0;
  std::size_t messages_lost = 0, messages_wrong = 0, not_deleted = 0, backups_lost = 0;
  std::size_t wrong_records = 0;  // served as those of a manifest, and not its own
  std::size_t caches_lost = 0;    // thrown away or not to be had, although they were firm
  std::size_t caches_older = 0, caches_thrown_away = 0;  // cost time, with a word for the latter

  std::size_t bad() const {
    return not_opened + unsound + not_written + messages_lost + messages_wrong + not_deleted +
           backups_lost + wrong_records + caches_lost;
  }
};

class Check {
 public:
  Check(const TempFolder& folder, const Ledger& ledger, std::size_t cut, Findings& out)
      : folder_(folder), ledger_(ledger), cut_(cut), out_(out) {}

  void run() {
    ++out_.n_cuts;
    check_backups();
    open_and_check();
    for (const char* file : {"data/library.db", "cache/kvcache.db"})
      if (fs::exists(folder_ / file) && integrity(folder_ / file) != "ok") ++out_.unsound;
  }

 private:
  void open_and_check() {
    auto opened = try_store(folder_);
    if (!opened.ok()) {
      ++out_.not_opened;
      ADD_FAILURE() << opened.error().message;
      return;
    }
    Store& store = **opened;
    if (const auto& why = store.library().report().read_only) {
      ++out_.not_written;
      ADD_FAILURE() << why->message;
      return;
    }
    const bool is_thrown_away = !store.cache_notice().empty() || store.kv() == nullptr;
    if (is_thrown_away) ++out_.caches_thrown_away;
    if (is_thrown_away && ledger_.caches_are_firm <= cut_) {
      ++out_.caches_lost;
      ADD_FAILURE() << store.cache_notice();
    }
    for (const auto& [name, chat] : ledger_.chats) check_chat(store, name, chat);
    const auto next = store.library().create_chat(named("next"));
    if (!next.ok() ||
        !store.library().append(*next, {Role::user, MessageState::complete, "next", {}}).ok())
      ++out_.not_written;
  }

  void check_chat(Store& store, const std::string& name, const ChatLedger& chat) {
    const auto found = must(store.library().find_chat(name));
    if (found && chat.deletion.is_done_at(cut_)) ++out_.not_deleted;
    if (!found && chat.deletion.is_begun_at(cut_)) return;
    check_messages(
        found ? must(store.library().messages(found->id)) : std::vector<runtime::StoredMessage>(),
        chat);
    if (store.kv() != nullptr && found) check_cache(*store.kv(), chat);
  }

  void check_messages(const std::vector<runtime::StoredMessage>& found, const ChatLedger& chat) {
    for (std::size_t i = 0; i < chat.messages.size(); ++i)
      if (chat.messages[i].is_done_at(cut_) && i >= found.size()) ++out_.messages_lost;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_whole = found[i].state == MessageState::complete;
      if (i >= chat.messages.size() || !chat.messages[i].is_begun_at(cut_)) {
        ++out_.messages_wrong;
        continue;
      }
      const std::string& text = chat.messages[i].text;
      const bool is_cut = !is_whole && !chat.messages[i].is_done_at(cut_);
      const bool is_right = is_cut ? text.starts_with(found[i].text) : found[i].text == text;
      if (!is_right || found[i].state == MessageState::damaged) ++out_.messages_wrong;
    }
  }

  void check_cache(KvStore& kv, const ChatLedger& chat) {
    const auto manifest = must(kv.newest_manifest(key_of(chat.id)));
    const std::uint64_t generation = manifest ? manifest->generation : 0;
    bool is_known = !manifest;
    for (const Saved& saved : chat.caches) {
      is_known = is_known || (saved.generation == generation && saved.is_begun_at(cut_));
      if (saved.is_done_at(cut_) && saved.generation > generation) {
        ++out_.caches_older;
        break;
      }
    }
    const auto record = manifest ? kv.record(key_of(chat.id), generation)
                                 : Result<std::vector<std::byte>>(std::vector<std::byte>());
    const bool is_its_own =
        !manifest || (record.ok() && *record == record_of(chat.id, generation) &&
                      manifest->bytes == bytes_of(300, 1));
    if (!is_known || !is_its_own) ++out_.wrong_records;
  }

  void check_backups() {
    for (const Backup& backup : ledger_.backups) {
      if (!backup.is_done_at(cut_)) continue;
      const fs::path file = folder_ / backup.name;
      const bool is_sound = fs::exists(file) && integrity(file) == "ok";
      if (!is_sound || messages_in(file) != static_cast<std::int64_t>(backup.n_messages))
        ++out_.backups_lost;
    }
  }

  static std::int64_t messages_in(const fs::path& file) {
    auto db = Connection::open({file, Access::read_only_media, Content::library, {}});
    if (!db.ok()) return -1;
    const auto n = db.value().integer("SELECT count(*) FROM message");
    return n.ok() ? *n : -1;
  }

  const TempFolder& folder_;
  const Ledger& ledger_;
  const std::size_t cut_;
  Findings& out_;
};

bool tries_all() {
  const char* all = std::getenv("SATCHEL_ALL_POWER_CUTS");
  return all != nullptr && std::string_view(all) == "1";
}

void try_cut(const PowerDisk& disk, const Ledger& ledger, std::size_t at, Left how,
             Findings& findings) {
  SCOPED_TRACE("cut after event " + std::to_string(at) + ", left: " + std::string(name_of(how)));
  Rng rng(kSeed + at * 10 + static_cast<std::uint64_t>(how));
  const TempFolder folder(Place::memory);
  disk.cut(how, rng, folder.path());
  const std::size_t bad_before = findings.bad();
  Check(folder, ledger, at, findings).run();
  EXPECT_EQ(findings.bad(), bad_before);
}

void print(const std::string& name, std::size_t n_moments, const Findings& found) {
  std::printf(
      "power cuts while %-22s %6zu of %6zu x %zu: not opened %zu, not sound %zu, read-only %zu, "
      "messages lost %zu, wrong %zu, deleted ones back %zu, backups lost %zu, wrong records %zu, "
      "firm caches lost %zu; caches older %zu, thrown away %zu\n",
      (name + ":").c_str(), found.n_cuts, n_moments, std::size(kAllLeft), found.not_opened,
      found.unsound, found.not_written, found.messages_lost, found.messages_wrong,
      found.not_deleted, found.backups_lost, found.wrong_records, found.caches_lost,
      found.caches_older, found.caches_thrown_away);
}

struct Situation {
  std::function<void(const TempFolder&, PowerVfs&, Ledger&)> before;  // on the disk already
  std::function<void(const TempFolder&, PowerVfs&, Ledger&)> during;
};

// When kvcache.db was first synced after a cache had been saved.
std::size_t firm_since(const PowerVfs& vfs, const Ledger& ledger) {
  std::size_t saved = kNever;
  for (const auto& [name, chat] : ledger.chats)
    for (const Saved& cache : chat.caches) saved = std::min(saved, cache.done);
  const Names* names = &vfs.names_before();
  if (saved == 0 && names->contains("cache/kvcache.db")) return 0;
  for (std::size_t i = 0; i < vfs.events().size(); ++i) {
    const DiskEvent& event = vfs.events()[i];
    if (event.kind == DiskEvent::Kind::names) names = &event.names;
    const auto file = names->find("cache/kvcache.db");
    if (event.kind == DiskEvent::Kind::sync && file != names->end() && file->second == event.file &&
        i >= saved)
      return i + 1;
  }
  return kNever;
}

void cut_power_while(const std::string& name, const Situation& situation) {
  PowerVfs vfs("power");
  const TempFolder folder(Place::memory);
  Ledger ledger;
  if (situation.before) situation.before(folder, vfs, ledger);
  vfs.record(folder.path());
  situation.during(folder, vfs, ledger);
  const std::size_t n_events = vfs.now();
  vfs.stop();
  ASSERT_GT(n_events, 10u);
  ledger.caches_are_firm = firm_since(vfs, ledger);
  const auto has_caches = [](const auto& chat) { return !chat.second.caches.empty(); };
  if (std::ranges::any_of(ledger.chats, has_caches)) {
    EXPECT_LT(ledger.caches_are_firm, n_events) << "no cut would look for a cache";
  }
  Findings findings;
  PowerDisk disk(vfs);
  Rng rng(kSeed);
  const double share =
      tries_all() ? 1 : static_cast<double>(kSampled) / static_cast<double>(n_events);
  for (std::size_t at = 0; at <= n_events; ++at) {
    if (at > 0) disk.pass(vfs.events()[at - 1]);
    for (const Left how : kAllLeft)
      if (rng.uniform() * std::size(kAllLeft) < share * (tries_all() ? std::size(kAllLeft) : 1) &&
          !testing::Test::HasFailure())
        try_cut(disk, ledger, at, how, findings);
  }
  print(name, n_events + 1, findings);
  testing::Test::RecordProperty("faults", static_cast<int>(findings.n_cuts));
  EXPECT_EQ(findings.bad(), 0u);
}

void talk(Script& script, const std::string& name) {
  script.message(name, "question of " + name);
  script.answer(name, "answer to it");
}

TEST(PowerCut, while_a_library_is_begun) {
  cut_power_while(
      "a library is begun",
      {.before = {}, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         Script script(folder, vfs, ledger);
         script.chat("a");
         script.message("a", "first");
       }});
}

TEST(PowerCut, while_a_library_is_begun_in_a_folder_that_nobody_synced) {
  cut_power_while(
      "one in a found folder",
      {.before = {}, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         fs::create_directory(folder / "data");
         fs::create_directory(folder / "cache");
         Script script(folder, vfs, ledger);
         script.chat("a");
         script.message("a", "first");
       }});
}

TEST(PowerCut, while_a_chat_is_saved) {
  cut_power_while(
      "a chat is saved",
      {.before = {}, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         Script script(folder, vfs, ledger);
         script.chat("a");
         for (std::uint64_t turn = 1; turn <= 3; ++turn) {
           talk(script, "a");
           script.save("a", turn);
         }
         script.close();
       }});
}

void two_chats(const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
  Script script(folder, vfs, ledger);
  for (const std::string name : {"a", "b"}) {
    script.chat(name);
    talk(script, name);
    script.save(name, 1);
  }
}
// All of that is done before the first event.
void before_all(Ledger& ledger) {
  for (auto& [name, chat] : ledger.chats) {
    for (Said& said : chat.messages) said.began = said.done = 0;
    for (Saved& saved : chat.caches) saved.began = saved.done = 0;
  }
}

TEST(PowerCut, while_a_chat_is_resumed) {
  cut_power_while(
      "a chat is resumed",
      {.before = two_chats, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         before_all(ledger);
         Script script(folder, vfs, ledger);
         script.resume("a");
         talk(script, "a");
         script.save("a", 2);
         script.resume("b");
         script.close();
         script.open();
         script.resume("a");
       }});
}

TEST(PowerCut, while_a_chat_is_deleted) {
  cut_power_while(
      "a chat is deleted",
      {.before = two_chats, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         before_all(ledger);
         Script script(folder, vfs, ledger);
         script.delete_now("a");
         talk(script, "b");
       }});
}

TEST(PowerCut, while_the_quota_makes_room) {
  cut_power_while(
      "the quota makes room",
      {.before = {}, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         Script script(folder, vfs, ledger, 100'000);  // two of them
         for (const std::string name : {"a", "b", "c", "d"}) {
           script.chat(name);
           talk(script, name);
           script.save(name, 1);
         }
       }});
}

TEST(PowerCut, while_a_backup_is_made) {
  cut_power_while(
      "a backup is made",
      {.before = two_chats, .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
         before_all(ledger);
         Script script(folder, vfs, ledger);
         script.back_up();
         talk(script, "a");
         script.back_up();
       }});
}

TEST(PowerCut, while_an_old_library_is_brought_up_to_date) {
  const auto old_library = [](const TempFolder& folder, PowerVfs&, Ledger& ledger) {
    fs::create_directories(folder / "data");
    const std::string sql = read_file(test::source_dir() + "/tests/golden/library/schema-1.sql");
    run_sql(folder / "data/library.db", sql.c_str());
    const TempFolder other(Place::memory);  // what is in it
    fs::create_directories(other / "data");
    run_sql(other / "data/library.db", sql.c_str());
    const auto store = open_store(other);
    for (const auto& chat : must(store->library().chats()))
      for (const auto& message : must(store->library().messages(chat.id))) {
        ledger.chats[chat.name].id = chat.id;
        ledger.chats[chat.name].messages.push_back({{.began = 0, .done = 0}, message.text});
      }
    ASSERT_FALSE(ledger.chats.empty());
  };
  cut_power_while("a library is migrated",
                  {.before = old_library,
                   .during = [](const TempFolder& folder, PowerVfs& vfs, Ledger& ledger) {
                     Script script(folder, vfs, ledger);
                     script.chat("new");
                     script.message("new", "after the migration");
                   }});
}

}  // namespace
}  // namespace satchel::storage
