#include "app/serve/guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace satchel::serve {
namespace {
namespace fs = std::filesystem;

GuardRules local() {
  GuardRules rules;
  rules.port = 8421;
  rules.body_bytes = 1000;
  return rules;
}
HttpRequest get(Headers headers) {
  return {.method = "GET", .path = "/v1/models", .headers = std::move(headers)};
}
int status_of(const HttpRequest& request, const GuardRules& rules) {
  const auto error = check_head(request, rules);
  return error ? error->status : 200;
}

TEST(Guard, only_our_own_names_are_taken_for_a_host) {
  for (const char* host : {"127.0.0.1:8421", "localhost:8421", "LOCALHOST:8421", "[::1]:8421"})
    EXPECT_EQ(status_of(get({{"Host", host}}), local()), 200) << host;
  for (const char* host : {"evil.example:8421", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8421.evil",
                           "localhost.evil:8421", "192.168.1.2:8421", "[::1:8421", "", ":8421"})
    EXPECT_EQ(status_of(get({{"Host", host}}), local()), 403) << host;
  EXPECT_EQ(status_of(get({}), local()), 403);
  EXPECT_EQ(status_of(get({{"Host", "127.0.0.1:8421"}, {"host", "127.0.0.1:8421"}}), local()), 403);
}

TEST(Guard, a_server_for_others_takes_addresses_and_named_hosts) {
  GuardRules rules = local();
  rules.is_local = false;
  rules.token = "0123456789abcdef";
  rules.hosts = {"Box.lan"};
  const std::pair<std::string, std::string> token{"Authorization", "Bearer 0123456789abcdef"};
  EXPECT_EQ(status_of(get({{"Host", "192.168.1.2:8421"}, token}), rules), 200);
  EXPECT_EQ(status_of(get({{"Host", "box.lan:8421"}, token}), rules), 200);
  EXPECT_EQ(status_of(get({{"Host", "evil.example:8421"}, token}), rules), 403);
}

TEST(Guard, a_page_may_ask_only_where_its_origin_is_listed) {
  GuardRules rules = local();
  rules.origins = {"https://ours.example"};
  const std::pair<std::string, std::string> host{"Host", "localhost:8421"};
  for (const char* origin : {"https://evil.example", "null", "https://ours.example.evil",
                             "http://ours.example", "http://127.0.0.1:8421"})
    EXPECT_EQ(status_of(get({host, {"Origin", origin}}), rules), 403) << origin;
  const HttpRequest ours = get({host, {"Origin", "https://ours.example"}});
  EXPECT_EQ(status_of(ours, rules), 200);
  EXPECT_EQ(cross_origin_headers(ours, rules).front().second, "https://ours.example");
  EXPECT_TRUE(cross_origin_headers(get({host}), rules).empty());
}

TEST(Guard, a_token_is_asked_for_everywhere_but_at_health) {
  GuardRules rules = local();
  rules.token = "0123456789abcdef";
  const std::pair<std::string, std::string> host{"Host", "localhost:8421"};
  EXPECT_EQ(status_of(get({host}), rules), 401);
  for (const char* wrong : {"0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", ""})
    EXPECT_EQ(status_of(get({host, {"Authorization", std::string("Bearer ") + wrong}}), rules),
              401);
  EXPECT_EQ(status_of(get({host, {"Authorization", "Basic 0123456789abcdef"}}), rules), 401);
  EXPECT_EQ(status_of(get({host, {"authorization", "bearer 0123456789abcdef"}}), rules), 200);
  EXPECT_EQ(status_of(get({host, {"X-Api-Key", "0123456789abcdef"}}), rules), 200);
  HttpRequest health = get({host});
  health.path = "/health";
  EXPECT_EQ(status_of(health, rules), 200);
}

TEST(Guard, a_body_must_be_json_plain_and_short_enough) {
  const auto post = [](Headers more) {
    more.insert(more.begin(), {"Host", "localhost:8421"});
    return HttpRequest{.method = "POST", .path = "/v1/messages", .headers = std::move(more)};
  };
  const std::pair<std::string, std::string> json{"Content-Type", "application/json; charset=utf-8"};
  EXPECT_EQ(status_of(post({json, {"Content-Length", "1000"}}), local()), 200);
  EXPECT_EQ(status_of(post({json, {"Content-Length", "1001"}}), local()), 413);
  EXPECT_EQ(status_of(post({json, {"Content-Length", "99999999999999999999999"}}), local()), 413);
  for (const char* wrong : {"-1", "0x10", "5 ", "", "5, 5"})
    EXPECT_EQ(status_of(post({json, {"Content-Length", wrong}}), local()), 400) << wrong;
  EXPECT_EQ(status_of(post({json, {"Content-Length", "5"}, {"Content-Length", "6"}}), local()),
            400);
  EXPECT_EQ(status_of(post({json, {"Content-Encoding", "gzip"}}), local()), 415);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "application/jsonp"})
    EXPECT_EQ(status_of(post({{"Content-Type", type}}), local()), 415) << type;
  EXPECT_EQ(status_of(post({}), local()), 415);
}

TEST(Guard, a_token_file_is_the_owners_alone) {
  const test::TempFolder folder;
  const fs::path file = folder / "token";
  const auto code = [&] {
    const auto token = read_token(file);
    return token.ok() ? "ok" : token.error().code;
  };
  EXPECT_EQ(code(), "TOKEN_FILE");
  std::ofstream(file) << "0123456789abcdef\n";
  fs::permissions(file, fs::perms(0640));
  EXPECT_EQ(code(), "TOKEN_FILE");
  fs::permissions(file, fs::perms(0600));
  EXPECT_EQ(read_token(file).value(), "0123456789abcdef");
  std::ofstream(file) << "short\n";
  EXPECT_EQ(code(), "TOKEN_FILE");
}

}  // namespace
}  // namespace satchel::serve
