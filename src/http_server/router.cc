#include "http_server/router.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/split.h"
#include "http_server/head.h"
#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

bool is_named(std::string_view segment) { return segment.starts_with('{'); }

// A named part's name, or a segment as it is spelt.
std::string_view bare(std::string_view segment) {
  return is_named(segment) ? segment.substr(1, segment.size() - 2) : segment;
}

bool is_segment(std::string_view segment) {
  if (is_named(segment) && (segment.size() < 3 || segment.back() != '}')) return false;
  const std::string_view inner = bare(segment);
  return !inner.empty() && std::all_of(inner.begin(), inner.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '~';
  });
}

Result<std::vector<std::string>> segments_of(const std::string& pattern) {
  if (pattern == "/") return std::vector<std::string>{""};
  if (!pattern.starts_with('/') || pattern.ends_with('/'))
    return fail(ErrorCode::kInvalid, pattern + " should begin with a slash, and not end in one");
  std::vector<std::string> segments = split(std::string_view(pattern).substr(1), '/');
  std::set<std::string_view> names;
  for (const std::string& segment : segments) {
    if (!is_segment(segment))
      return fail(ErrorCode::kInvalid, pattern + " has a segment that is none: " + segment);
    if (is_named(segment) && !names.insert(segment).second)
      return fail(ErrorCode::kInvalid, pattern + " names " + segment + " twice");
  }
  if (segments.size() > kPathSegmentsMax)
    return fail(ErrorCode::kInvalid, pattern + " has too many segments");
  return segments;
}

bool same_paths(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const std::string& left, const std::string& right) {
                      return is_named(left) ? is_named(right) : left == right;
                    });
}

// Whether `a` spells out a segment where `b` names a part, at the first place where they differ in that.
bool goes_before(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (is_named(a[i]) != is_named(b[i])) return is_named(b[i]);
  return false;
}

}  // namespace

Result<void> Router::add(Route route) {
  if (entries_.size() == kRoutesMax) return fail(ErrorCode::kExhausted, "there are too many routes");
  if (!is_token(route.method) || !route.act)
    return fail(ErrorCode::kInvalid, route.pattern + " has no method, or nothing to do");
  std::vector<std::string> segments = TRY(segments_of(route.pattern));
  for (const Entry& entry : entries_)
    if (entry.route.method == route.method && same_paths(entry.segments, segments))
      return fail(ErrorCode::kInvalid,
                  route.method + " " + route.pattern + " is " + entry.route.pattern + " already");
  entries_.push_back({std::move(route), std::move(segments)});
  return {};
}

bool Router::matches(const Entry& entry, const Request& request) {
  return std::equal(entry.segments.begin(), entry.segments.end(), request.path.begin(), request.path.end(),
                    [](const std::string& pattern, const std::string& segment) {
                      return is_named(pattern) ? !segment.empty() : pattern == segment;
                    });
}

const Router::Entry* Router::find(const Request& request, std::string_view method) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.route.method != method || !matches(entry, request)) continue;
    if (found == nullptr || goes_before(entry.segments, found->segments)) found = &entry;
  }
  return found;
}

std::string Router::methods_of(const Request& request) const {
  std::set<std::string> methods;
  for (const Entry& entry : entries_) {
    if (!matches(entry, request)) continue;
    methods.insert(entry.route.method);
    if (entry.route.method == "GET") methods.insert("HEAD");
  }
  std::string text;
  for (const std::string& method : methods) text += (text.empty() ? "" : ", ") + method;
  return text;
}

Admission Router::admit(Request& request) {
  Admission admission;
  const Entry* entry = find(request, request.method);
  if (entry == nullptr && request.method == "HEAD") entry = find(request, "GET");
  if (entry == nullptr) {
    const std::string methods = methods_of(request);
    if (methods.empty()) {
      admission.refusal =
          problem(Problem{404, "no_such_path", "there is no such path here", "", std::nullopt});
    } else {
      admission.refusal =
          problem(Problem{405, "method_not_allowed", "this path is there for " + methods, "", std::nullopt});
      admission.refusal->fields.push_back({"Allow", methods});
    }
    return admission;
  }
  request.route = static_cast<std::size_t>(entry - entries_.data());
  request.parts.clear();
  for (std::size_t i = 0; i < entry->segments.size(); ++i)
    if (is_named(entry->segments[i]))
      request.parts.push_back({std::string(bare(entry->segments[i])), request.path[i]});
  if (entry->route.access == Route::Access::kKeyed) admission.refusal = guard_(request);
  admission.body_max = entry->route.body_max;
  return admission;
}

Answer Router::handle(const Request& request, const Client& client) {
  CHECK(request.route < entries_.size());
  return entries_[request.route].route.act(request, client);
}

}  // namespace casemate::http_server
