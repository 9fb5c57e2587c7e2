// The server as a program: where it listens, how it ends, what it leaves behind. What it answers:
// tests/unit/serve, and serve_clients.py.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <iterator>

#include "process.h"

namespace satchel::test {
namespace {
namespace fs = std::filesystem;

TEST(Serve, another_address_needs_a_token) {
  const Folder home;
  const Finished open = run(home, {"serve", "--host", "0.0.0.0", "--port", "0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_NE(open.err.find("[TOKEN_MISSING]"), std::string::npos) << open.err;
  const auto token = home.write("token", "0123456789abcdef0123456789abcdef\n");
  fs::permissions(token, fs::perms(0644));
  const Finished readable =
      run(home, {"serve", "--host", "0.0.0.0", "--port", "0", "--token-file", token.string()});
  EXPECT_EQ(readable.exit_code, 2);
  EXPECT_NE(readable.err.find("[TOKEN_FILE]"), std::string::npos) << readable.err;
}

TEST(Serve, a_limit_that_no_chat_fits_is_refused_at_once) {
  const Folder home;
  const Finished small = run(home, {"serve", "--port", "0", "--budget", "2MB"});
  EXPECT_EQ(small.exit_code, 5);
  EXPECT_NE(small.err.find("Raise the limit. [MEMORY]"), std::string::npos) << small.err;
}

TEST(Serve, a_port_in_use_is_said_and_nothing_is_left_behind) {
  const Folder home;
  Running server(home, {"serve", "--port", "0", "--json"});
  const auto facts = nlohmann::json::parse(server.read_until("\n"), nullptr, false);
  ASSERT_FALSE(facts.is_discarded());
  const std::string port = std::to_string(facts["port"].get<int>());
  const Finished second = run(home, {"serve", "--port", port});
  EXPECT_EQ(second.exit_code, 8);
  EXPECT_NE(second.err.find("[BIND]"), std::string::npos) << second.err;
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_TRUE(fs::is_empty(home.path()));
}

}  // namespace
}  // namespace satchel::test
