// A connection whose client takes little, over a pair of sockets.
#include "app/serve/http/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace satchel::serve {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  // More than both sockets hold for the client.
  static constexpr std::size_t kMuch = 4u << 20;

  ConnectionTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
    const int small = 4096;
    setsockopt(sockets_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  }
  ~ConnectionTest() override { close(sockets_[1]); }

  std::string taken() const {  // until the other side closes
    std::string all;
    char bytes[65536];
    for (ssize_t n = 0; (n = recv(sockets_[1], bytes, sizeof bytes, 0)) > 0;)
      all.append(bytes, static_cast<std::size_t>(n));
    return all;
  }
  int server() const { return sockets_[0]; }  // the connection closes it
  int client() const { return sockets_[1]; }

 private:
  int sockets_[2] = {};
};

TEST_F(ConnectionTest, a_stream_waits_for_nobody_and_loses_nothing) {
  std::string sent;
  std::string got;
  {
    Connection connection(server(), {.write_ms = 600'000});
    connection.begin_stream();
    for (std::size_t i = 0; sent.size() < kMuch; ++i) {  // nobody takes anything yet
      const std::string chunk(1000, static_cast<char>('a' + i % 26));
      sent += chunk;
      ASSERT_TRUE(connection.write(chunk));
    }
    std::thread client([&] { got = taken(); });
    EXPECT_TRUE(connection.end_stream());
    EXPECT_TRUE(connection.write("."));
    sent += '.';
    connection.close_gently();
    client.join();
  }
  EXPECT_TRUE(got == sent);
}

TEST_F(ConnectionTest, what_is_kept_goes_out_without_another_write) {
  Connection connection(server(), {.write_ms = 600'000});
  connection.begin_stream();
  const std::string sent(1u << 20, 'x');
  ASSERT_TRUE(connection.write(sent));
  std::string got;
  char bytes[65536];
  while (got.size() < sent.size()) {
    connection.flush();
    const ssize_t n = recv(client(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) got.append(bytes, static_cast<std::size_t>(n));
  }
  EXPECT_TRUE(got == sent);
}

TEST_F(ConnectionTest, a_client_that_falls_too_far_behind_has_left) {
  Connection connection(server(), {.write_ms = 600'000, .stream_bytes = 100'000});
  connection.begin_stream();
  const std::string chunk(1000, 'x');
  std::size_t n_sent = 0;
  while (n_sent < kMuch && connection.write(chunk)) n_sent += chunk.size();
  EXPECT_GE(n_sent, 100'000u);
  EXPECT_LT(n_sent, kMuch);
  EXPECT_TRUE(connection.gone().stop_requested());
}

TEST_F(ConnectionTest, a_client_that_takes_nothing_for_a_while_has_left) {
  Connection connection(server(), {.write_ms = 20});
  connection.begin_stream();
  ASSERT_TRUE(connection.write(std::string(1u << 20, 'x')));
  while (!connection.gone().stop_requested()) connection.flush();
  EXPECT_FALSE(connection.write("x"));
  EXPECT_FALSE(connection.end_stream());
}

}  // namespace
}  // namespace satchel::serve
