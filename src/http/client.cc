#include "http/client.h"

#include <curl/curl.h>

#include <map>
#include <utility>

#include "http/transfer.h"

namespace casemate::http {
namespace {

constexpr int kWaitMs = 1000;

struct FreeMulti {
  void operator()(CURLM* multi) const { (void)::curl_multi_cleanup(multi); }
};

}  // namespace

struct Client::State {
  const Config* config = nullptr;
  Shared shared;  // goes after libcurl's connections
  std::unique_ptr<CURLM, FreeMulti> multi;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers;
  std::string lines;

  // Whoever calls has given up on some that we have not yet: there may be a few more than it has at work.
  std::size_t transfers_max() const { return config->parallel * 2 + 16; }
  ~State() {
    for (const auto& [easy, transfer] : transfers) (void)::curl_multi_remove_handle(multi.get(), easy);
  }
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::make(const Config& config) {
  auto state = std::make_unique<State>();
  state->config = &config;
  if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return fail(ErrorCode::kSystem, "libcurl cannot begin");
  state->multi.reset(::curl_multi_init());
  const long parallel = static_cast<long>(config.parallel);
  CURLM* multi = state->multi.get();
  if (multi == nullptr || ::curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, parallel) != CURLM_OK ||
      ::curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, parallel) != CURLM_OK)
    return fail(ErrorCode::kSystem, "libcurl cannot begin");
  return std::unique_ptr<Client>(new Client(std::move(state)));
}

void Client::begin(const Asked& asked, std::string line) {
  State& state = *state_;
  if (state.transfers.size() >= state.transfers_max()) {
    state.lines += not_done(asked.id, "too many calls at once");
    return;
  }
  auto transfer = Transfer::make(*state.config, asked, std::move(line), state.shared);
  if (!transfer) {
    state.lines += not_done(asked.id, transfer.error().message);
    return;
  }
  CURL* easy = (*transfer)->easy();
  if (::curl_multi_add_handle(state.multi.get(), easy) != CURLM_OK) {
    state.lines += not_done(asked.id, "libcurl does not take it");
    return;
  }
  state.transfers.emplace(easy, std::move(*transfer));
}

Result<void> Client::wait(const sys::Fd& fd) {
  CURLM* multi = state_->multi.get();
  int running = 0;
  if (::curl_multi_perform(multi, &running) != CURLM_OK) return fail(ErrorCode::kSystem, "libcurl fails");
  collect();
  if (!state_->lines.empty()) return {};
  curl_waitfd also{fd.get(), CURL_WAIT_POLLIN, 0};
  if (::curl_multi_poll(multi, &also, 1, kWaitMs, nullptr) != CURLM_OK)
    return fail(ErrorCode::kSystem, "libcurl fails");
  return {};
}

void Client::collect() {
  State& state = *state_;
  int left = 0;
  while (const CURLMsg* message = ::curl_multi_info_read(state.multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;  // the message is gone with its handle
    (void)::curl_multi_remove_handle(state.multi.get(), easy);
    const auto found = state.transfers.find(easy);
    if (found->second->begins_anew() && ::curl_multi_add_handle(state.multi.get(), easy) == CURLM_OK)
      continue;
    state.lines += found->second->ending(code);
    state.transfers.erase(found);
  }
}

std::string Client::take() { return std::exchange(state_->lines, {}); }

}  // namespace casemate::http
