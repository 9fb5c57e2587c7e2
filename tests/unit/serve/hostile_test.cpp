// Clients that are slow, wrong, too many, gone, or somebody else's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "app/serve/desk.h"
#include "kernels/base/clock.h"
#include "kernels/base/rng.h"
#include "running_server.h"

namespace satchel::serve {
namespace {

const Json kHello{{"messages", Json::array({user("Hello")})}, {"max_tokens", 4}};

RunningOptions limited(const HttpLimits& limits) {
  RunningOptions options;
  options.server.limits = limits;
  return options;
}
bool answers(const RunningServer& server) {
  return server.post("/v1/chat/completions", kHello).status == 200;
}
Reply raw(const RunningServer& server, const std::string& bytes) {
  HttpClient client(server.port());
  client.send(bytes);
  return client.read_reply();
}
std::uint64_t counted(const RunningServer& server, const std::string& name) {
  const std::string text = server.get("/metrics").body;
  const std::size_t at = text.find("\nsatchel_" + name + " ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + std::size_t{10}));
}

TEST(Hostile, another_host_or_page_is_refused_before_its_body_is_read) {
  const RunningServer server;
  const auto status = [&](const std::string& headers) {
    return ask(server.port(), "POST", "/v1/chat/completions", kHello, headers).status;
  };
  EXPECT_EQ(status("Host: evil.example\r\n"), 403);
  EXPECT_EQ(status("Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(status("Content-Type: text/plain\r\n"), 415);
  // Its body never comes.
  EXPECT_EQ(raw(server,
                "POST /v1/chat/completions HTTP/1.1\r\nHost: evil.example\r\n"
                "Content-Length: 1000\r\n\r\n")
                .status,
            403);
  EXPECT_EQ(status(""), 200);
}

TEST(Hostile, a_body_beyond_the_limit_is_refused_however_it_comes) {
  const RunningServer server(limited({.body_bytes = 10'000}));
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
      "\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(raw(server, head + "Content-Length: 10001\r\n\r\n").status, 413);
  EXPECT_EQ(raw(server, head + "Content-Length: 18446744073709551615\r\n\r\n").status, 413);
  EXPECT_EQ(raw(server, head + "Content-Length: -5\r\n\r\n").status, 400);
  std::string chunks;
  for (int i = 0; i < 20; ++i) chunks += "400\r\n" + std::string(1024, ' ') + "\r\n";
  EXPECT_EQ(raw(server, head + "Transfer-Encoding: chunked\r\n\r\n" + chunks).status, 413);
  for (const char* size : {"-2", "ffffffffffffffff", "zz", ""}) {
    const Reply reply = raw(server, head + "Transfer-Encoding: chunked\r\n\r\n" + size + "\r\n" +
                                        std::string(30'000, 'x'));
    EXPECT_TRUE(reply.status == 400 || reply.status == 413) << size << ": " << reply.status;
  }
  EXPECT_EQ(raw(server, head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").status,
            415);
  EXPECT_TRUE(answers(server));
}

TEST(Hostile, headers_have_an_end) {
  const RunningServer server;
  std::string many = "GET /health HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port());
  for (int i = 0; i < 65; ++i) many += "\r\nX-" + std::to_string(i) + ": 1";
  EXPECT_EQ(raw(server, many + "\r\n\r\n").status, 431);
  std::string endless = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) endless += "X-Header-" + std::to_string(i) + ": some value\r\n";
  EXPECT_NE(raw(server, endless).status, 200);
  EXPECT_NE(raw(server, "GET /" + std::string(40'000, 'a')).status, 200);
  EXPECT_TRUE(answers(server));
}

TEST(Hostile, a_slow_client_is_dropped_and_holds_nobody_up) {
  const RunningServer server(limited({.n_connections = 4, .head_ms = 1'000, .request_ms = 1'500}));
  const SystemClock clock;
  const double began = clock.steady_ms();
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<HttpClient>(server.port()));
    slow.back()->send("GET /health HT");
  }
  int status = 200;
  while (status == 200 && clock.steady_ms() - began < 900) status = server.get("/health").status;
  EXPECT_EQ(status, 503);                                  // one too many
  for (const auto& client : slow) client->read_until("");  // closed by the server
  EXPECT_LT(clock.steady_ms() - began, 30'000);
  while (server.get("/health").status != 200) std::this_thread::yield();
  // One byte at a time does not help.
  HttpClient drip(server.port());
  const std::string text =
      request_text(server.port(), "POST", "/v1/chat/completions", kHello.dump());
  std::size_t n_sent = 0;
  for (const double from = clock.steady_ms(); clock.steady_ms() - from < 4'000; ++n_sent) {
    if (!drip.send(text.substr(n_sent, 1))) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(n_sent, text.size());
  EXPECT_TRUE(answers(server));
}

TEST(Hostile, a_client_that_leaves_stops_its_answer) {
  RunningOptions options;
  options.server.defaults.sampling.ends_loops = false;
  const RunningServer server(options);
  const Json endless{{"messages", Json::array({user("Tell me a long story.")})},
                     {"max_tokens", 100'000},
                     {"temperature", 2},
                     {"top_k", 0},
                     {"top_p", 1},
                     {"min_p", 0},
                     {"seed", 3},
                     {"stream", true}};
  HttpClient client(server.port());
  client.send(request_text(server.port(), "POST", "/v1/chat/completions", endless.dump()));
  EXPECT_NE(client.read_until("\"content\":\"").find("200 OK"), std::string::npos);
  client.leave();
  const SystemClock clock;
  const double left = clock.steady_ms();
  EXPECT_TRUE(answers(server));                 // waits for the other one
  EXPECT_LT(clock.steady_ms() - left, 10'000);  // not the minutes that the answer takes
  EXPECT_EQ(counted(server, "clients_left_total"), 1u);
}

TEST(Hostile, broken_requests_are_answered_or_dropped_and_the_server_goes_on) {
  const RunningServer server(limited({.head_ms = 100, .request_ms = 200}));
  const std::string whole =
      request_text(server.port(), "POST", "/v1/chat/completions",
                   R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":1})");
  Rng rng(5);
  std::size_t n_refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + rng.next() % 4; n > 0; --n) {
      const std::uint64_t at = rng.next() % text.size();
      if (rng.next() % 2 == 0)
        text[at] = static_cast<char>(rng.next());
      else
        text.erase(at, 1 + rng.next() % 9);
    }
    n_refused += raw(server, text).status >= 400 ? 1u : 0u;
  }
  EXPECT_GT(n_refused, 10u);
  EXPECT_TRUE(answers(server));
  EXPECT_EQ(server.post("/v1/chat/completions", Json::array({1})).json()["error"]["code"],
            "invalid_json");
}

TEST(Hostile, one_too_many_is_told_to_come_back) {
  const RunningServer server;
  std::atomic<int> n_busy = 0, n_answered = 0, n_other = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 60; ++i)
      clients.emplace_back([&, i] {
        const Reply reply = server.chat(Json::array({user("Story " + std::to_string(i))}),
                                        {{"max_tokens", 300}, {"grammar", "root ::= [a-z ]{500}"}});
        if (reply.status == 429)
          n_busy += reply.head.find("Retry-After: 1") != std::string::npos ? 1 : 0;
        else if (reply.status == 200)
          ++n_answered;
        else
          ++n_other;
      });
  }
  EXPECT_GE(n_answered, static_cast<int>(kRequestsMax));
  EXPECT_GT(n_busy, 0);
  EXPECT_EQ(n_other, 0);
  EXPECT_EQ(counted(server, "requests_in_work"), 0u);
}

// Each says the same as it says alone.
TEST(Hostile, chats_of_many_clients_at_once_are_not_mixed_up) {
  constexpr int kClients = 32, kTurns = 3;
  const auto talk = [](const RunningServer& server, int who) {
    Json chat = Json::array();
    std::vector<std::string> said;
    for (int turn = 0; turn < kTurns; ++turn) {
      chat.push_back(user("Person " + std::to_string(who) + " has " +
                          std::to_string(who * 7 + turn) + " coins. How many coins has person " +
                          std::to_string(who) + "?"));
      const Json hot{{"temperature", 1.5}, {"top_k", 0}, {"top_p", 1}, {"min_p", 0}, {"seed", who}};
      Reply reply = server.chat(chat, hot);
      while (reply.status == 429) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        reply = server.chat(chat, hot);
      }
      said.push_back(text_of(reply));
      chat.push_back(model(said.back()));
    }
    return said;
  };
  std::vector<std::vector<std::string>> alone(kClients), together(kClients);
  const RunningOptions roomy{.limit_bytes = 100'000'000};  // none is closed and read again
  {
    const RunningServer server(roomy);
    for (int who = 0; who < kClients; ++who) alone[std::size_t(who)] = talk(server, who);
  }
  const RunningServer server(roomy);
  {
    std::vector<std::jthread> clients;
    for (int who = 0; who < kClients; ++who)
      clients.emplace_back([&, who] { together[std::size_t(who)] = talk(server, who); });
  }
  EXPECT_EQ(together, alone);
  std::ranges::sort(alone);
  EXPECT_GT(std::unique(alone.begin(), alone.end()) - alone.begin(),
            kClients / 2);  // else they say nothing
}

}  // namespace
}  // namespace satchel::serve
