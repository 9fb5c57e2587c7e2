// `satchel encrypt`, `satchel decrypt`: all chats under a key, and back.
#include <memory>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/store_key.h"
#include "app/store_options.h"

namespace satchel::app {
namespace {

constexpr std::size_t kKeyBytesMin = 8;  // chosen: shorter ones are tried out

Error key_error(const std::string& what) {
  return {ErrorKind::invalid, "LIBRARY_KEY", what + " Nothing was changed."};
}

// Typed twice: a slip would lock everybody out.
Result<std::string> new_key(const Options& options) {
  std::string key;
  if (!options.key_file.empty()) {
    SATCHEL_TRY_ASSIGN(key, read_key_file(options.key_file));
  } else {
    const auto typed = ask_for_key("New passphrase: ");
    if (!typed) return key_error("A key is needed. Name a file with it: --key-file FILE.");
    if (ask_for_key("Again: ") != typed) return key_error("The two passphrases differ.");
    key = *typed;
  }
  if (key.size() < kKeyBytesMin) return key_error("A key has at least 8 bytes.");
  return key;
}

Result<void> run_encrypt(const Options& options, Console& console) {
  storage::StoreOptions plain = store_options(standard_paths(options.store));
  if (!storage::Store::can_encrypt())
    return key_error("This Satchel was built without encryption (SATCHEL_SQLCIPHER).");
  if (storage::Store::wants_key(plain.data_dir))
    return key_error("The chats are encrypted already. Decrypt them first.");
  SATCHEL_TRY_ASSIGN(const std::string key, new_key(options));
  SATCHEL_TRY_ASSIGN(std::unique_ptr<storage::Store> store, storage::Store::open(std::move(plain)));
  SATCHEL_TRY(storage::Store::change_key(std::move(store), key));
  console.note(
      "All chats and saved caches are encrypted. Keep the key: without it nobody can read them. "
      "Copies that you made earlier with `satchel backup` are not encrypted.");
  return {};
}

Result<void> run_decrypt(const Options& options, Console& console) {
  if (!storage::Store::wants_key(standard_paths(options.store).data_dir))
    return key_error("The chats are not encrypted.");
  SATCHEL_TRY_ASSIGN(auto store, open_store(options, storage::OpenMode::read_write));
  SATCHEL_TRY(storage::Store::change_key(std::move(store), ""));
  console.note("The chats are no longer encrypted.");
  return {};
}

void add_command(CLI::App& app, const Choose& choose, const char* name, const char* says,
                 Result<void> (*run)(const Options&, Console&)) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, says);
  add_output_options(*command, *options);
  add_store_option(*command, *options);
  on_run(*command, choose, options, run);
}

}  // namespace

void add_encrypt(CLI::App& app, const Choose& choose) {
  add_command(app, choose, "encrypt",
              "Encrypt all chats and saved caches with a passphrase, typed or of --key-file",
              run_encrypt);
  add_command(app, choose, "decrypt", "Undo it", run_decrypt);
}

}  // namespace satchel::app
