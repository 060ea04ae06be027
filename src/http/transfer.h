// One request and its answer, in libcurl's hands.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>

#include "http/answer.h"
#include "http/config.h"
#include "http/sockets.h"

namespace casemate::http {

struct FreeEasy {
  void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

// What all transfers have together. Must outlive them, and libcurl's connections.
struct Shared {
  std::size_t body_bytes = 0;  // of all answers that are held, so that many long ones at once have one bound
  Sockets sockets;
};

class Transfer {
 public:
  // Errors: system (libcurl does not take what we ask: then nothing may be sent).
  static Result<std::unique_ptr<Transfer>> make(const Config& config, const Asked& asked, std::string message,
                                                Shared& shared);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* easy() const { return easy_.get(); }
  // True once: it met a kept connection on which something lies unread, has sent nothing, and is now set to
  // have a connection of its own.
  bool begins_anew();
  // The line that the caller is told, once libcurl says that it is over.
  std::string ending(CURLcode code) const;

 private:
  Transfer(const Config& config, const Asked& asked, std::string message, Shared& shared);
  Result<void> set_up();
  bool set_address();
  bool set_safety();
  bool set_message();
  std::string why_not_sent(CURLcode code) const;

  static int before_request(void* self, char*, char* local_ip, int, int local_port);
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address);
  static int close_socket(void* shared, curl_socket_t socket);
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* self);

  const Config& config_;
  const Asked asked_;
  const std::string message_;
  Shared& shared_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  bool sent_ = false;       // a byte of the request may have gone out
  bool twice_ = false;      // libcurl wanted to send it again
  bool unread_ = false;     // the kept connection was not quiet
  bool anew_ = false;       // and another was asked for
  bool forbidden_ = false;  // an address was refused
  bool too_long_ = false;
  std::size_t header_bytes_ = 0;
  std::string body_;
};

}  // namespace casemate::http
