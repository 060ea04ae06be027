#include "bridge/http_spec.h"

#include <algorithm>
#include <set>

#include "url/url.h"

namespace casemate::bridge {
namespace {

// Those of one table: `secret` ones have the name of a variable where the others have their value.
std::vector<HttpSpec::Header> read_headers(toml::Table& table, const char* key, bool secret,
                                           std::set<std::string>& names) {
  std::vector<HttpSpec::Header> headers;
  auto given = table.table(key);
  if (!given) return headers;
  toml::Mistakes& mistakes = table.mistakes();
  for (const toml::Entry& entry : given->entries()) {
    const std::string what = given->name() + "." + toml::shown(entry.key.text);
    const auto value = given->text(entry.key.text);
    if (const auto named = url::check_header_name(entry.key.text); !named)
      mistakes.add(entry.key.place, what + " " + named.error().message);
    std::string small = entry.key.text;
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (!names.insert(small).second) mistakes.add(entry.key.place, what + " is said twice");
    if (names.size() == kHeadersMax + 1)
      mistakes.add(entry.key.place, table.name() + " has more than 32 headers");
    if (!value) continue;
    const auto valid = url::check_header_value(value->text);
    if (!valid) mistakes.add(value->place, what + " " + valid.error().message);
    if (secret && value->text.find_first_of("= ") != std::string::npos)
      mistakes.add(value->place,
                   what + " should be the name of a variable of the environment, not its value");
    headers.push_back({entry.key.text, value->text});
  }
  given->finish();
  return headers;
}

}  // namespace

HttpSpec read_http_spec(toml::Table& table) {
  HttpSpec spec;
  toml::Mistakes& mistakes = table.mistakes();
  std::set<std::string> names;
  table.need("url");
  const auto text = table.text("url");
  if (text) spec.url = text->text;
  spec.headers = read_headers(table, "headers", /*secret=*/false, names);
  spec.headers_from_env = read_headers(table, "headers_from_env", /*secret=*/true, names);
  const auto ca_file = table.text("ca_file");
  if (ca_file) spec.ca_file = ca_file->text;
  if (!text) return spec;
  const auto url = url::parse_url(text->text);
  if (!url) {
    mistakes.add(text->place, table.name() + ".url: " + url.error().message);
    return spec;
  }
  if (!url->tls && !url->is_loopback() && !spec.headers_from_env.empty())
    mistakes.add(text->place, table.name() +
                                  ".url: what headers_from_env keeps secret would cross the network "
                                  "in the clear: use https, or an address of this computer");
  if (!url->tls && ca_file)
    mistakes.add(ca_file->place, table.name() + ".ca_file is for https, and the URL is http");
  return spec;
}

}  // namespace casemate::bridge
