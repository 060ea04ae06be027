#include "http/config.h"

#include "base/split.h"
#include "json/reader.h"

namespace casemate::http {
namespace {

// A shorter word, such as Bearer, says nothing about a secret.
constexpr std::size_t kSecretWordMin = 8;

Result<std::string> text_of(const json::Value& document, const char* key) {
  const json::Value* value = document.find(key);
  if (value == nullptr || !value->as_string())
    return fail(ErrorCode::kInvalid, std::string("the configuration has no ") + key);
  return std::string(*value->as_string());
}

Result<std::uint64_t> number_of(const json::Value& document, const char* key) {
  const json::Value* value = document.find(key);
  const auto number = value != nullptr ? value->as_uint64() : Result<std::uint64_t>(0);
  if (!number || *number == 0)
    return fail(ErrorCode::kInvalid, std::string("the configuration has no ") + key);
  return *number;
}

// Checked again here, so that no caller can make two headers out of one.
Result<void> read_headers(const json::Value* headers, bool secret, Config& config) {
  if (headers == nullptr) return {};
  for (const json::Member& header : headers->members()) {
    const auto value = header.value.as_string();
    if (!value) return fail(ErrorCode::kInvalid, "a header is text");
    TRY(url::check_header_name(header.key));
    TRY(url::check_header_value(*value));
    config.headers.push_back(header.key + ": " + std::string(*value));
    if (!secret) continue;
    config.secrets.emplace_back(*value);
    for (std::string& word : split(*value, ' '))
      if (word.size() >= kSecretWordMin && word != *value) config.secrets.push_back(std::move(word));
  }
  return {};
}

}  // namespace

Result<Config> read_config(std::string_view line) {
  json::ReadLimits limits;
  limits.bytes_max = kConfigMax;
  const auto document = json::read(line, limits);
  if (!document) return fail(ErrorCode::kInvalid, "the configuration is no JSON");
  Config config;
  const std::string text = TRY(text_of(*document, "url"));
  config.url = TRY(url::parse_url(text));
  config.parallel = TRY(number_of(*document, "parallel"));
  config.answer_max = Bytes{TRY(number_of(*document, "answer_max_bytes"))};
  if (document->find("ca") != nullptr) config.ca = TRY(text_of(*document, "ca"));
  TRY(read_headers(document->find("headers"), /*secret=*/false, config));
  TRY(read_headers(document->find("secret_headers"), /*secret=*/true, config));
  return config;
}

}  // namespace casemate::http
