// Downloads from a server on loopback that says what the test wants, byte for byte, and may end a
// connection in the middle.
#include "app/model_files/download.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/model_files/import_model.h"
#include "app/model_files/part_file.h"
#include "app/model_files/sha256.h"
#include "app/model_files/url.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string& model() {
  static const std::string bytes = text_of(test::kBundledModel);
  return bytes;
}

std::string sha_of(const std::string& bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

// Answers each connection with what `answer` makes of its request, then ends it.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit Server(Answer answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  Server(Server&&) = delete;

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::vector<std::string> requests() {
    const std::lock_guard hold(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      std::string request;
      char buffer[2048];
      while (request.find("\r\n\r\n") == request.npos) {
        const ssize_t n = ::recv(client, buffer, sizeof buffer, 0);
        if (n <= 0) break;
        request.append(buffer, static_cast<std::size_t>(n));
      }
      {
        const std::lock_guard hold(mutex_);
        requests_.push_back(request);
      }
      const std::string said = answer_(request);
      for (std::size_t at = 0; at < said.size();) {
        const ssize_t n = ::send(client, said.data() + at, said.size() - at, MSG_NOSIGNAL);
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      ::shutdown(client, SHUT_WR);
      while (::recv(client, buffer, sizeof buffer, 0) > 0) {
      }
      ::close(client);
    }
  }

  Answer answer_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  int socket_ = -1;
  int port_ = 0;
  std::thread thread_;
};

std::string head(int status, std::size_t length, const std::string& more = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(length) +
         "\r\nConnection: close\r\n" + more + "\r\n";
}

// Where the client asks to begin; 0: at the beginning.
std::size_t begin_of(const std::string& request) {
  const std::size_t at = request.find("Range: bytes=");
  return at == request.npos ? 0 : std::stoul(request.substr(at + 13));
}

// As a good server answers, at most `most` bytes of it.
std::string good(const std::string& request, const std::string& bytes,
                 std::size_t most = SIZE_MAX) {
  const std::size_t begin = begin_of(request);
  const std::string etag = "ETag: \"v1\"\r\n";
  const std::string rest = bytes.substr(std::min(begin, bytes.size()), most);
  if (begin == 0) return head(200, bytes.size(), etag) + rest;
  if (begin >= bytes.size()) {
    const std::string page = "<html>Nothing is there.</html>";
    return head(416, page.size(),
                etag + "Content-Range: bytes */" + std::to_string(bytes.size()) + "\r\n") +
           page;
  }
  return head(206, bytes.size() - begin,
              etag + "Content-Range: bytes " + std::to_string(begin) + "-" +
                  std::to_string(bytes.size() - 1) + "/" + std::to_string(bytes.size()) + "\r\n") +
         rest;
}

class DownloadTest : public testing::Test {
 protected:
  Result<DownloadReport> get(const Server& server, const std::string& sha256 = "",
                             const std::string& path = "/m/small.gguf",
                             const DownloadFn& progress = {}, std::stop_token stop = {}) {
    return download(
        {.url = server.url(path), .folder = folder_.path() / "models", .sha256 = sha256}, stop,
        progress);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "models"))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  // As an earlier download of the server's file left it, killed before the file had its name.
  void leave(const Server& server, const std::string& bytes, const std::string& version) const {
    fs::create_directories(file_.parent_path());
    std::ofstream(file_.string() + ".part", std::ios::binary) << bytes;
    std::ofstream(file_.string() + ".part.from") << server.url("/m/small.gguf") << '\n'
                                                 << version << '\n';
  }
  const test::TempFolder folder_;
  const fs::path file_ = folder_.path() / "models/small.gguf";
};

TEST_F(DownloadTest, a_whole_file_gets_its_name_and_progress_ends_at_all_of_it) {
  Server server([](const std::string& request) { return good(request, model()); });
  DownloadProgress last;
  const auto report = value_of(get(server, sha_of(model()), "/m/small.gguf?download=true",
                                   [&](const DownloadProgress& now) { last = now; }));
  EXPECT_EQ(report.path, file_);
  EXPECT_EQ(report.sha256, sha_of(model()));
  EXPECT_EQ(report.n_resumed, 0u);
  EXPECT_EQ(text_of(file_), model());
  EXPECT_EQ(last.done, model().size());
  EXPECT_EQ(last.total, model().size());
  EXPECT_THAT(files(), ElementsAre("small.gguf"));
  EXPECT_THAT(server.requests().at(0), HasSubstr("GET /m/small.gguf?download=true "));
}

TEST_F(DownloadTest, a_connection_that_ends_early_is_taken_up_where_it_ended) {
  Server server([](const std::string& request) { return good(request, model(), 1'000'000); });
  const auto report = value_of(get(server));
  EXPECT_EQ(text_of(file_), model());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_THAT(requests[1], HasSubstr("Range: bytes=1000000-"));
  EXPECT_THAT(requests[1], HasSubstr("If-Range: \"v1\""));
  EXPECT_EQ(report.sha256, sha_of(model()));
}

TEST_F(DownloadTest, goes_on_in_another_run_and_hashes_what_was_there) {
  std::size_t n_most = 700'000;
  Server server([&](const std::string& request) {
    return begin_of(request) > 0 && n_most < model().size() ? std::string()
                                                            : good(request, model(), n_most);
  });
  const auto cut = get(server);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, "NETWORK");
  EXPECT_EQ(cut.error().kind, ErrorKind::internal);
  EXPECT_THAT(files(), ElementsAre("small.gguf.part", "small.gguf.part.from"));
  n_most = SIZE_MAX;
  const auto report = value_of(get(server, sha_of(model())));
  EXPECT_EQ(report.n_resumed, 700'000u);
  EXPECT_EQ(text_of(file_), model());
}

TEST_F(DownloadTest, another_version_on_the_server_begins_anew) {
  const std::string old(700'000, 'x');
  bool is_new = false;
  Server server([&](const std::string& request) {
    if (!is_new)
      return begin_of(request) > 0 ? std::string() : head(200, 900'000, "ETag: \"v0\"\r\n") + old;
    // If-Range does not match: all of it.
    return head(200, model().size(), "ETag: \"v1\"\r\n") + model();
  });
  ASSERT_FALSE(get(server).ok());
  is_new = true;
  EXPECT_EQ(value_of(get(server)).n_resumed, 0u);
  EXPECT_THAT(server.requests().back(), HasSubstr("If-Range: \"v0\""));
  EXPECT_EQ(text_of(file_), model());
}

TEST_F(DownloadTest, what_has_no_version_is_not_taken_up_without_a_hash) {
  bool is_cut = true;
  Server server([&](const std::string& request) {
    if (is_cut) return begin_of(request) > 0 ? std::string() : head(200, model().size()) + "GGUF";
    return good(request, model());
  });
  ASSERT_FALSE(get(server).ok());
  is_cut = false;
  EXPECT_TRUE(get(server).ok());
  EXPECT_EQ(begin_of(server.requests().back()), 0u);
}

TEST_F(DownloadTest, a_whole_part_gets_its_name_without_another_byte) {
  Server server([](const std::string& request) { return good(request, model()); });
  for (const std::string& sha256 : {std::string(), sha_of(model())}) {
    leave(server, model(), "\"v1\"");
    const std::size_t n_before = server.requests().size();
    DownloadProgress last;
    const auto report = value_of(
        get(server, sha256, "/m/small.gguf", [&](const DownloadProgress& now) { last = now; }));
    EXPECT_EQ(server.requests().size() - n_before, 1u) << sha256;
    EXPECT_EQ(report.n_resumed, model().size());
    EXPECT_EQ(report.bytes, model().size());
    EXPECT_EQ(report.sha256, sha_of(model()));
    EXPECT_EQ(last.done, model().size());
    EXPECT_EQ(last.total, model().size());
    EXPECT_EQ(text_of(file_), model());
    EXPECT_THAT(files(), ElementsAre("small.gguf"));
    fs::remove(file_);
  }
}

TEST_F(DownloadTest, a_part_that_is_a_finished_model_is_never_written) {
  Server server([](const std::string& request) { return good(request, model()); });
  const fs::path mine = file_.parent_path() / "renamed.gguf";
  for (const std::string& version : {std::string(), std::string("\"v0\"")}) {
    leave(server, "an old model", version);
    fs::create_hard_link(file_.string() + ".part", mine);
    EXPECT_EQ(value_of(get(server)).n_resumed, 0u);
    EXPECT_EQ(text_of(file_), model());
    EXPECT_EQ(text_of(mine), "an old model");
    EXPECT_THAT(files(), ElementsAre("renamed.gguf", "small.gguf"));
    fs::remove(mine);
    fs::remove(file_);
  }
}

TEST_F(DownloadTest, a_name_that_was_taken_meanwhile_is_seen_before_a_byte_comes) {
  fs::create_directories(file_.parent_path());
  std::ofstream(file_) << "mine";
  const auto part = PartFile::open(file_);
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.error().message, HasSubstr("there already"));
  EXPECT_THAT(files(), ElementsAre("small.gguf"));
  EXPECT_EQ(text_of(file_), "mine");
}

TEST_F(DownloadTest, a_part_with_another_length_hash_or_version_begins_anew) {
  Server server([](const std::string& request) { return good(request, model()); });
  std::string damaged = model();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  struct Case {
    std::string bytes, version, sha256;
  };
  for (const Case& part : {Case{model() + "x", "\"v1\"", ""},
                           {model() + "x", "\"v1\"", sha_of(model())},
                           {damaged, "\"v1\"", sha_of(model())},
                           {damaged, "\"v0\"", ""}}) {
    leave(server, part.bytes, part.version);
    const std::size_t n_before = server.requests().size();
    const auto report = value_of(get(server, part.sha256));
    EXPECT_EQ(report.n_resumed, 0u);
    EXPECT_EQ(server.requests().size() - n_before, 2u);
    EXPECT_EQ(begin_of(server.requests().back()), 0u);
    EXPECT_EQ(text_of(file_), model());
    fs::remove(file_);
  }
}

TEST_F(DownloadTest, a_wrong_part_and_a_short_file_are_refused) {
  Server wrong([](const std::string& request) {
    if (begin_of(request) == 0) return good(request, model(), 1000);
    return head(206, 10, "Content-Range: bytes 5-14/2825952\r\n") + "0123456789";
  });
  EXPECT_EQ(get(wrong).error().code, "DOWNLOAD_STATUS");
  EXPECT_EQ(get(wrong).error().kind, ErrorKind::internal);
  fs::remove_all(folder_.path() / "models");
  Server ends([](const std::string& request) {
    return begin_of(request) == 0 ? good(request, model(), 1000) : std::string();
  });
  EXPECT_EQ(get(ends).error().code, "NETWORK");
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(DownloadTest, another_hash_and_a_page_that_is_no_model_leave_nothing) {
  Server server([](const std::string& request) { return good(request, model()); });
  const auto other = get(server, std::string(64, '0'));
  EXPECT_EQ(other.error().code, "DOWNLOAD_HASH");
  EXPECT_THAT(other.error().message, HasSubstr(sha_of(model())));
  EXPECT_TRUE(files().empty());
  const std::string page = "<html>Please log in</html>";
  Server login([&](const std::string& request) { return good(request, page); });
  EXPECT_EQ(get(login).error().code, "DOWNLOAD_NOT_MODEL");
  EXPECT_EQ(get(login).error().kind, ErrorKind::corrupt);
  EXPECT_TRUE(files().empty());
}

TEST_F(DownloadTest, follows_redirects_but_not_in_a_circle) {
  Server server([](const std::string& request) {
    if (request.starts_with("GET /m/")) return head(302, 0, "Location: /cdn/1?key=2\r\n");
    if (request.starts_with("GET /round/")) return head(302, 0, "Location: /round/x.gguf\r\n");
    return good(request, model());
  });
  EXPECT_EQ(value_of(get(server)).path, file_);
  EXPECT_EQ(get(server, "", "/round/x.gguf").error().code, "DOWNLOAD_STATUS");
}

TEST_F(DownloadTest, says_what_the_server_refuses) {
  Server server([](const std::string& request) {
    return head(request.starts_with("GET /m/") ? 404 : 403, 0);
  });
  EXPECT_THAT(get(server).error().message, HasSubstr("no such file"));
  EXPECT_THAT(get(server, "", "/secret.gguf").error().message, HasSubstr("403"));
  EXPECT_TRUE(files().empty()) << "nothing came, so nothing is kept";
}

TEST_F(DownloadTest, a_file_larger_than_the_disk_is_refused_with_both_sizes) {
  Server server(
      [](const std::string&) { return head(200, 4'012'345'678'000'000'000, "ETag: \"v1\"\r\n"); });
  const auto report = get(server);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, "DISK_FULL");
  EXPECT_THAT(report.error().message,
              testing::MatchesRegex("The file takes 4\\.0 EB, and only [0-9.]+ "
                                    "(bytes|[kMGTPE]B) are free on the disk\\."));
  EXPECT_TRUE(files().empty());
}

TEST_F(DownloadTest, stops_and_goes_on_later) {
  Server server([](const std::string& request) { return good(request, model()); });
  std::stop_source stop;
  const auto stopped = get(
      server, "", "/m/small.gguf", [&](const DownloadProgress&) { stop.request_stop(); },
      stop.get_token());
  EXPECT_EQ(stopped.error().code, "STOPPED");
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_GT(value_of(get(server)).n_resumed, 0u);
  EXPECT_EQ(text_of(file_), model());
}

TEST_F(DownloadTest, stops_while_it_hashes_what_was_there) {
  Server server([](const std::string& request) { return good(request, model()); });
  leave(server, model(), "\"v1\"");
  std::stop_source stop;
  {
    PartFile part = value_of(PartFile::open(file_));
    EXPECT_EQ(part.sha256({}).value(), sha_of(model()));
  }
  {
    PartFile part = value_of(PartFile::open(file_));
    stop.request_stop();
    EXPECT_EQ(part.sha256(stop.get_token()).error().code, "STOPPED");
    EXPECT_EQ(part.sha256({}).value(), sha_of(model())) << "it goes on";
  }
  EXPECT_EQ(value_of(get(server, sha_of(model()))).n_resumed, model().size()) << "it is kept";
}

TEST_F(DownloadTest, asks_nobody_where_the_request_is_wrong) {
  Server server([](const std::string& request) { return good(request, model()); });
  ASSERT_TRUE(get(server).ok());
  EXPECT_THAT(get(server).error().message, HasSubstr("there already"));
  EXPECT_EQ(get(server, "abc").error().code, "PARAM");
  EXPECT_EQ(get(server, "", "/readme.txt").error().code, "PARAM");
  const auto plain = download({.url = "http://example.org/m.gguf", .folder = folder_.path()}, {});
  EXPECT_THAT(plain.error().message, HasSubstr("https://"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Url, is_taken_apart_and_followed) {
  const Url url = value_of(parse_url("https://host.example:81/a/b%20c.gguf?x=/y#z"));
  EXPECT_EQ(url.origin, "https://host.example:81");
  EXPECT_EQ(url.host, "host.example");
  EXPECT_EQ(url.target, "/a/b%20c.gguf?x=/y");
  EXPECT_EQ(file_name_of(url), "b c.gguf");
  EXPECT_EQ(value_of(redirected(url, "/else")).text(), "https://host.example:81/else");
  EXPECT_EQ(value_of(redirected(url, "//other/e")).text(), "https://other/e");
  EXPECT_EQ(value_of(parse_url("http://[::1]:8080")).host, "::1");
  EXPECT_TRUE(value_of(parse_url("http://[::1]:8080")).is_here());
  EXPECT_FALSE(value_of(parse_url("http://127.example.org/a")).is_here());
  for (const char* wrong : {"", "ftp://host/x", "https://", "https:///x", "https://me@host/x",
                            "https://ho st/x", "/a/b", "https://host/\n"})
    EXPECT_EQ(parse_url(wrong).error().code, "PARAM") << wrong;
  for (const char* no_name : {"https://h/", "https://h/..", "https://h/a%2Fb", "https://h/.x"})
    EXPECT_EQ(file_name_of(value_of(parse_url(no_name))), "") << no_name;
}

TEST(Sha256, is_that_of_the_standard) {
  EXPECT_EQ(sha_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.add("a");
  EXPECT_EQ(hash.hex(), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
  hash.add("bc");
  EXPECT_EQ(hash.hex(), sha_of("abc")) << "it goes on";
  EXPECT_EQ(sha_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ImportModel, puts_a_model_into_the_folder_and_refuses_what_is_none) {
  const test::TempFolder folder;
  // A copy: a further name would be a change to the tests that have the model open.
  const fs::path from = folder.path() / "mine.gguf", models = folder.path() / "models";
  fs::copy_file(test::kBundledModel, from);
  const fs::path there = value_of(import_model(from, models, {}));
  EXPECT_EQ(there.parent_path(), models);
  EXPECT_EQ(text_of(there), model());
  EXPECT_EQ(value_of(import_model(there, models, {})), there) << "it lies there";
  std::ofstream(folder.path() / "page.gguf") << "<html>";
  EXPECT_FALSE(import_model(folder.path() / "page.gguf", models, {}).ok());
  fs::create_directories(folder.path() / "other");
  fs::copy_file(there, folder.path() / "other" / there.filename());
  EXPECT_EQ(import_model(folder.path() / "other" / there.filename(), models, {}).error().code,
            "PARAM")
      << "another file has that name";
  EXPECT_EQ(std::distance(fs::directory_iterator(models), {}), 1);
}

TEST(ImportModel, copies_across_disks_and_leaves_nothing_where_it_is_stopped) {
  const test::TempFolder memory(test::Place::memory), disk;
  if (fs::exists("/dev/shm") && memory.path().string().starts_with("/dev/shm")) {
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = import_model(test::kBundledModel, memory.path(), stop.get_token());
    EXPECT_EQ(stopped.error().code, "STOPPED");
    EXPECT_TRUE(fs::is_empty(memory.path()));
    std::uint64_t done = 0;
    const auto copied = import_model(test::kBundledModel, memory.path(), {},
                                     [&](const DownloadProgress& now) { done = now.done; });
    EXPECT_EQ(text_of(value_of(copied)), model());
    EXPECT_EQ(done, model().size());
  } else {
    GTEST_SKIP() << "there is no second file system";
  }
}

}  // namespace
}  // namespace satchel::app
