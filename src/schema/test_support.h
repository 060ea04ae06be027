// For the tests of this library.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "json/reader.h"
#include "schema/check.h"
#include "schema/schema.h"

namespace casemate::schema {

inline json::Value value_of(std::string_view text) {
  auto value = json::read(text, {.bytes_max = std::size_t{64} << 20, .values_max = 2'000'000});
  EXPECT_TRUE(value.has_value()) << text.substr(0, 200) << ": " << value.error().message;
  return value ? std::move(*value) : json::Value();
}

inline Schema schema_of(std::string_view text) {
  auto schema = Schema::compile(value_of(text));
  EXPECT_TRUE(schema.has_value()) << text.substr(0, 200) << ": " << error_of(schema.error()).message;
  if (schema) return *schema;
  return *Schema::compile(json::Value::boolean(false));
}

// All faults, a line each; "" for a valid value; what was the matter when there is no answer.
inline std::string faults_of(const Schema& schema, std::string_view value, const CheckLimits& limits = {}) {
  const auto report = check(schema, value_of(value), limits);
  if (!report) return "no answer: " + report.error().message;
  std::string text;
  for (const Fault& fault : report->faults) text += (text.empty() ? "" : "\n") + line_of(fault);
  return text + (report->more ? "\n…" : "");
}
inline std::string faults_of(std::string_view schema, std::string_view value,
                             const CheckLimits& limits = {}) {
  return faults_of(schema_of(schema), value, limits);
}

// What is wrong with a schema, a line each; "" when it compiles.
inline std::string faults_in(std::string_view schema) {
  const auto compiled = Schema::compile(value_of(schema));
  std::string text;
  if (compiled) return text;
  for (const Fault& fault : compiled.error()) text += (text.empty() ? "" : "\n") + line_of(fault);
  return text;
}

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A file of this test's own, gone with it.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, std::string_view content)
      : path_(testing::TempDir() + "casemate_schema_" + std::to_string(::getpid()) + "_" + name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What a command prints, and that it succeeds. Bounded in time.
inline std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(("timeout 120 " + command + " 2>&1").c_str(), "r");
  std::string text;
  if (pipe == nullptr) return "popen failed";
  char buffer[4096];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, count);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << text;
  return text;
}

}  // namespace casemate::schema
