#include "approve/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "approve/messages.h"

namespace casemate::approve {
namespace {

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("casemate-ask-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
    server_ = Server::start(desk_, folder_.string()).value();
    socket_ = sockets_in(folder_.string()).value().at(0);
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_;
  std::string socket_;
  Desk desk_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersWhoIsTheSameUser) {
  const auto reply = ask_server(socket_, R"({"do":"list"})", Deadline::in(milliseconds{5000}));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(*reply, R"({"asks":[]})");
  struct stat status {};
  ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

// Even where the file's mode lets them.
TEST_F(ServerTest, AnotherUserIsNotHeard) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  ASSERT_EQ(::chmod(socket_.c_str(), 0666), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) < 0) ::_exit(2);
    const auto reply = ask_server(socket_, R"({"do":"list"})", Deadline::in(milliseconds{5000}));
    ::_exit(reply ? 1 : reply.error().errno_value == EACCES ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: it was answered";
}

TEST_F(ServerTest, EndsWhileAPeerSaysNothing) {
  const Instant begun = now();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)ask_server(socket_, "", Deadline::in(milliseconds{1}));  // an empty line, and it goes
    ::_exit(0);
  }
  (void)::waitpid(child, nullptr, 0);
  server_.reset();
  EXPECT_LT(now() - begun, milliseconds{2000});
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(ServerTest, WhatKilledProcessesLeftIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  (void)::waitpid(child, nullptr, 0);
  const std::filesystem::path stale = folder_ / (std::to_string(child) + ".sock");
  std::ofstream(stale).close();
  EXPECT_EQ(sockets_in(folder_.string()).value().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(stale));
}

}  // namespace
}  // namespace casemate::approve
