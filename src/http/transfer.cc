#include "http/transfer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "url/address.h"

namespace casemate::http {
namespace {

constexpr std::size_t kHeadersMax = std::size_t{64} << 10;
constexpr std::size_t kHeldMax = std::size_t{512} << 20;
// Kept connections are closed by us before servers in wide use close theirs (5 s): a request that crosses
// with the end of its connection is one of which nobody knows what became.
constexpr long kIdleSeconds = 4;
// The answer is told before the caller stops waiting for it.
constexpr milliseconds kMarginMost{200};

template <typename Value>
bool set(CURL* easy, CURLoption option, Value value) {
  return ::curl_easy_setopt(easy, option, value) == CURLE_OK;
}

// Also "Name;" would be an empty header; none of ours is.
bool append(std::unique_ptr<curl_slist, FreeList>& list, const std::string& line) {
  curl_slist* longer = ::curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return false;
  (void)list.release();
  list.reset(longer);
  return true;
}

}  // namespace

Transfer::Transfer(const Config& config, const Asked& asked, std::string message, Shared& shared)
    : config_(config), asked_(asked), message_(std::move(message)), shared_(shared) {}

Transfer::~Transfer() { shared_.body_bytes -= body_.size(); }

Result<std::unique_ptr<Transfer>> Transfer::make(const Config& config, const Asked& asked,
                                                 std::string message, Shared& shared) {
  std::unique_ptr<Transfer> transfer(new Transfer(config, asked, std::move(message), shared));
  TRY(transfer->set_up());
  return transfer;
}

Result<void> Transfer::set_up() {
  easy_.reset(::curl_easy_init());
  if (!easy_ || !set_address() || !set_safety() || !set_message())
    return fail(ErrorCode::kSystem, "libcurl does not take what a request needs");
  return {};
}

bool Transfer::set_address() {
  CURL* easy = easy_.get();
  const milliseconds margin = std::min(kMarginMost, asked_.time_left / 10);
  const long time = std::max<long>(1, (asked_.time_left - margin).count());
  return set(easy, CURLOPT_URL, config_.url.text.c_str()) &&
         set(easy, CURLOPT_PROTOCOLS_STR, config_.url.tls ? "https" : "http") &&
         set(easy, CURLOPT_TIMEOUT_MS, time) && set(easy, CURLOPT_CONNECTTIMEOUT_MS, time) &&
         // Else its end waits for the thread that looks a name up, and all other calls with it.
         set(easy, CURLOPT_QUICK_EXIT, 1L) && set(easy, CURLOPT_NOSIGNAL, 1L) &&
         set(easy, CURLOPT_MAXAGE_CONN, kIdleSeconds) && set(easy, CURLOPT_PRIVATE, this) &&
         set(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket) &&
         set(easy, CURLOPT_OPENSOCKETDATA, this) &&
         set(easy, CURLOPT_CLOSESOCKETFUNCTION, &Transfer::close_socket) &&
         set(easy, CURLOPT_CLOSESOCKETDATA, &shared_) &&
         set(easy, CURLOPT_PREREQFUNCTION, &Transfer::before_request) && set(easy, CURLOPT_PREREQDATA, this);
}

// Most of these are what libcurl does by itself; here they are promises.
bool Transfer::set_safety() {
  CURL* easy = easy_.get();
  if (!config_.ca.empty()) {
    curl_blob blob{const_cast<char*>(config_.ca.data()), config_.ca.size(), CURL_BLOB_COPY};
    // The file alone, without the system's folder.
    if (!set(easy, CURLOPT_CAINFO_BLOB, &blob) || !set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)))
      return false;
  }
  return set(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
         set(easy, CURLOPT_HTTP09_ALLOWED, 0L) && set(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
         set(easy, CURLOPT_PROXY, "") && set(easy, CURLOPT_NOPROXY, "*") &&
         set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED)) &&
         set(easy, CURLOPT_ACCEPT_ENCODING, static_cast<char*>(nullptr)) &&
         set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
}

bool Transfer::set_message() {
  bool all = true;
  for (const std::string& header : config_.headers) all = all && append(headers_, header);
  // Without "Expect:" a long message would wait a second for a permission that few servers give.
  for (const char* header : {"Content-Type: application/json", "Accept: application/json", "Expect:"})
    all = all && append(headers_, header);
  all = all && append(headers_, "Idempotency-Key: " + asked_.idempotency_key);
  CURL* easy = easy_.get();
  return all && set(easy, CURLOPT_HTTPHEADER, headers_.get()) && set(easy, CURLOPT_POST, 1L) &&
         set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message_.size())) &&
         set(easy, CURLOPT_POSTFIELDS, message_.data()) &&
         set(easy, CURLOPT_HEADERFUNCTION, &Transfer::take_header) && set(easy, CURLOPT_HEADERDATA, this) &&
         set(easy, CURLOPT_WRITEFUNCTION, &Transfer::take_body) && set(easy, CURLOPT_WRITEDATA, this);
}

// Called when there is a connection and before a byte of the request is written to it; again, when libcurl
// would send the request a second time because a kept connection was dead.
int Transfer::before_request(void* self, char*, char* local_ip, int, int local_port) {
  Transfer& one = *static_cast<Transfer*>(self);
  if (one.sent_) {
    one.twice_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  const bool ipv6 = std::string_view(local_ip).find(':') != std::string_view::npos;
  if (!one.shared_.sockets.is_quiet(ipv6, local_port)) {
    one.unread_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  one.sent_ = true;
  return CURL_PREREQFUNC_OK;
}

// Here and not where the name is looked up: this is the address that is spoken to, whatever was answered
// before.
curl_socket_t Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  Transfer& one = *static_cast<Transfer*>(self);
  if (!one.config_.url.is_literal() && url::is_forbidden(address->addr, address->addrlen)) {
    one.forbidden_ = true;
    return CURL_SOCKET_BAD;
  }
  return one.shared_.sockets.open(*address);
}

int Transfer::close_socket(void* shared, curl_socket_t socket) {
  return static_cast<Shared*>(shared)->sockets.close(socket);
}

std::size_t Transfer::take_header(char*, std::size_t size, std::size_t count, void* self) {
  Transfer& one = *static_cast<Transfer*>(self);
  one.header_bytes_ += size * count;
  if (one.header_bytes_ <= kHeadersMax) return size * count;
  one.too_long_ = true;
  return 0;
}

std::size_t Transfer::take_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  Transfer& one = *static_cast<Transfer*>(self);
  const std::size_t more = size * count;
  if (one.body_.size() + more > one.config_.answer_max.count || one.shared_.body_bytes + more > kHeldMax) {
    one.too_long_ = true;
    return 0;
  }
  one.body_.append(bytes, more);
  one.shared_.body_bytes += more;
  return more;
}

bool Transfer::begins_anew() {
  if (!unread_ || sent_ || anew_) return false;
  anew_ = true;
  return set(easy(), CURLOPT_FRESH_CONNECT, 1L);
}

std::string Transfer::why_not_sent(CURLcode code) const {
  if (forbidden_) return "its name leads to an address that a name must not lead to";
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return "its name cannot be looked up";
    case CURLE_COULDNT_CONNECT: return "there is no connection to it";
    case CURLE_OPERATION_TIMEDOUT: return "there was no connection to it in time";
    case CURLE_PEER_FAILED_VERIFICATION:
      return "its certificate is not valid for it: of another name, expired, or of an authority that is not "
             "trusted";
    case CURLE_SSL_CACERT_BADFILE: return "the certificates to trust cannot be read";
    default: return std::string("it was not asked: ") + ::curl_easy_strerror(code);
  }
}

std::string Transfer::ending(CURLcode code) const {
  if (!sent_) return not_done(asked_.id, why_not_sent(code));
  if (too_long_) return unknown(asked_.id, "the server's answer is longer than may be");
  if (twice_ || code == CURLE_GOT_NOTHING)
    return unknown(asked_.id, "the server closed the connection without an answer");
  if (code == CURLE_OPERATION_TIMEDOUT) return unknown(asked_.id, "no whole answer in time");
  if (code != CURLE_OK)
    return unknown(asked_.id, std::string("no answer that can be taken: ") + ::curl_easy_strerror(code));
  long status = 0;
  (void)::curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
  return answer_of(asked_.id, status, body_, config_);
}

}  // namespace casemate::http
