#include "http_server/router.h"

#include <gtest/gtest.h>

#include "http_server/events.h"
#include "http_server/limits.h"
#include "http_server/target.h"

namespace casemate::http_server {
namespace {

class RouterTest : public testing::Test {
 protected:
  Result<void> add(const std::string& method, const std::string& pattern,
                   Route::Access access = Route::Access::kKeyed) {
    return router_.add({method, pattern, access, 10, [method, pattern](const Request&, const Client&) {
                          Answer answer;
                          answer.body = method + " " + pattern;
                          return answer;
                        }});
  }
  // What answers, or the status of a refusal.
  std::string ask(const std::string& method, const std::string& target) {
    request_ = {};
    request_.method = method;
    request_.target = target;
    EXPECT_FALSE(read_target("", request_));
    Admission admission = router_.admit(request_);
    if (admission.refusal) {
      refusal_ = *admission.refusal;
      return std::to_string(refusal_.status);
    }
    EXPECT_EQ(admission.body_max, 10U);
    return router_.handle(request_, client_).body;
  }

  int guarded_ = 0;
  std::optional<Answer> guard_says_;
  Router router_{[this](Request& request) {
    ++guarded_;
    request.tenant = "acme";
    return guard_says_;
  }};
  Request request_;
  Answer refusal_;
  sys::Fd none_;
  std::atomic<bool> draining_{false};
  Client client_{none_, none_, draining_};
};

TEST_F(RouterTest, NamedPartsAndSpeltSegments) {
  ASSERT_TRUE(add("GET", "/v1/runs/{id}"));
  ASSERT_TRUE(add("GET", "/v1/runs/active"));
  ASSERT_TRUE(add("GET", "/v1/{kind}/active/{x}"));
  ASSERT_TRUE(add("POST", "/v1/runs"));
  ASSERT_TRUE(add("GET", "/"));
  EXPECT_EQ(ask("GET", "/v1/runs/run_1"), "GET /v1/runs/{id}");
  EXPECT_EQ(*request_.part("id"), "run_1");
  EXPECT_EQ(request_.tenant, "acme");
  EXPECT_EQ(ask("GET", "/v1/runs/active"), "GET /v1/runs/active");
  EXPECT_EQ(ask("GET", "/v1/a%20b/active/%25"), "GET /v1/{kind}/active/{x}");
  EXPECT_EQ(*request_.part("kind"), "a b");
  EXPECT_EQ(*request_.part("x"), "%");
  EXPECT_EQ(ask("GET", "/"), "GET /");
  EXPECT_EQ(ask("POST", "/v1/runs?x"), "POST /v1/runs");
}

TEST_F(RouterTest, WhatIsNotThereAndWhatIsThereOtherwise) {
  ASSERT_TRUE(add("GET", "/v1/runs/{id}"));
  ASSERT_TRUE(add("DELETE", "/v1/runs/{id}"));
  for (const char* target :
       {"/", "/v1", "/v1/runs", "/v1/runs/", "/v1/runs/a/", "/v1/runs/a/b", "//v1/runs/a", "/V1/runs/a"})
    EXPECT_EQ(ask("GET", target), "404") << target;
  EXPECT_EQ(ask("POST", "/v1/runs/a"), "405");
  EXPECT_EQ(*find_value(refusal_.fields, "Allow"), "DELETE, GET, HEAD");
  EXPECT_EQ(ask("BREW", "/v1/runs/a"), "405");
}

TEST_F(RouterTest, HeadIsAnsweredByGet) {
  ASSERT_TRUE(add("GET", "/a"));
  ASSERT_TRUE(add("GET", "/b"));
  ASSERT_TRUE(add("HEAD", "/b"));
  ASSERT_TRUE(add("POST", "/c"));
  EXPECT_EQ(ask("HEAD", "/a"), "GET /a");
  EXPECT_EQ(ask("HEAD", "/b"), "HEAD /b");
  EXPECT_EQ(ask("HEAD", "/c"), "405");
}

TEST_F(RouterTest, TheGuardStandsBeforeEverythingThatIsNotOpen) {
  ASSERT_TRUE(add("GET", "/healthz", Route::Access::kOpen));
  ASSERT_TRUE(add("GET", "/v1/runs"));
  guard_says_ = problem(Problem{401, "unauthorized", "", "", std::nullopt});
  EXPECT_EQ(ask("GET", "/healthz"), "GET /healthz");
  EXPECT_EQ(guarded_, 0);
  EXPECT_EQ(ask("GET", "/v1/runs"), "401");
  EXPECT_EQ(ask("HEAD", "/v1/runs"), "401");
}

TEST_F(RouterTest, RefusesRoutesThatCannotBeMeant) {
  ASSERT_TRUE(add("GET", "/v1/runs/{id}"));
  EXPECT_FALSE(add("GET", "/v1/runs/{name}")) << "the same paths";
  for (const char* bad :
       {"", "v1", "/v1/", "/v1//a", "/{}", "/{a", "/a}", "/{a}b", "/a b", "/{a}/{a}", "/a%20"})
    EXPECT_FALSE(add("GET", bad)) << bad;
  EXPECT_FALSE(add("G T", "/x"));
  EXPECT_FALSE(router_.add({"GET", "/x", Route::Access::kOpen, 0, nullptr}));
  for (std::size_t i = 1; i < kRoutesMax; ++i) ASSERT_TRUE(add("GET", "/r" + std::to_string(i)));
  const auto full = add("GET", "/one_more");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kExhausted);
}

}  // namespace
}  // namespace casemate::http_server
