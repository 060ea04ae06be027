#include "image/inside.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace casemate::image {
namespace {

// The machine's own root stands for an image: what is tested is how programs are run in one.
Result<std::vector<std::string>> run(std::vector<std::string> scripts,
                                     milliseconds span = milliseconds{20'000}) {
  const sys::Fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  InsideSpec spec;
  for (std::string& script : scripts) spec.commands.push_back({"/bin/sh", "-c", std::move(script)});
  spec.environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
  return run_inside(root, spec, Deadline::in(span));
}

#define NEEDS_CHROOT(result)                                    \
  if (!(result) && (result).error().code == ErrorCode::kDenied) \
  GTEST_SKIP() << "needs root or user namespaces: " << (result).error().message

TEST(Inside, ReturnsWhatEachCommandWrites) {
  const auto outputs = run({"echo $GREETING", "echo two; echo noise >&2", "cat"});
  NEEDS_CHROOT(outputs);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_EQ(*outputs, (std::vector<std::string>{"hello\n", "two\n", ""}));
}

TEST(Inside, InheritsNothingElse) {
  const sys::Fd leak(
      ::open("/", O_RDONLY | O_DIRECTORY));  // without close-on-exec, as a careless caller has it
  const auto outputs = run({"ls /proc/self/fd | wc -l; env | wc -l"});
  NEEDS_CHROOT(outputs);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  // Three streams and the directory that ls reads; two variables of ours and PWD.
  EXPECT_EQ(outputs->front(), "4\n3\n");
}

TEST(Inside, AFailureHasItsLastLine) {
  const auto outputs = run({"true", "echo first >&2; echo 'the reason' >&2; exit 3"});
  NEEDS_CHROOT(outputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(outputs.error().message, "/bin/sh ended with exit code 3: the reason");
  EXPECT_EQ(run({"kill -9 $$"}).error().message, "/bin/sh was ended by signal 9: ");
}

TEST(Inside, OutputIsBounded) {
  const auto outputs = run({"yes"});
  NEEDS_CHROOT(outputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().code, ErrorCode::kExhausted);
}

TEST(Inside, TheDeadlineEndsIt) {
  const Instant start = now();
  const auto outputs = run({"sleep 60"}, milliseconds{100});
  NEEDS_CHROOT(outputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().code, ErrorCode::kDeadline);
  EXPECT_LT(now() - start, std::chrono::seconds(30));
}

TEST(Inside, AProgramThatIsNotThereIsAFailure) {
  const sys::Fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto outputs = run_inside(root, {{{"/no/such/program"}}, {}}, Deadline::in(milliseconds{20'000}));
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace casemate::image
