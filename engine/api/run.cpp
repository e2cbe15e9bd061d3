// Plan::run and Plan::start: one run at a time of a plan and of a State.
#include "base/logging.hpp"
#include "base/thread.hpp"
#include "graph/schedule/backend.hpp"

namespace heed {
namespace detail {

class RunImpl {
 public:
  // Copies of the handles, as the host may drop or replace its own while the plan runs.
  RunImpl(std::shared_ptr<PlanImpl> of, const State& state)
      : plan_(std::move(of)),
        state_(state.impl()),
        plan_claim_(&plan_->running),
        state_claim_(plan_claim_.is_mine() && plan_->state_bytes() > 0 && state_ != nullptr ? &state_->running
                                                                                            : nullptr) {}
  ~RunImpl() { (void)wait(); }  // the log has reported a failure
  RunImpl(const RunImpl&) = delete;
  RunImpl& operator=(const RunImpl&) = delete;

  // Ok if no other run uses the plan or the State.
  Status check(const char* call) const {
    const char* used = !plan_claim_.is_mine() ? "plan" : !state_claim_.is_mine() ? "State" : nullptr;
    if (used == nullptr) return Status::Ok;
    return fail(
        plan_->host_log(), Status::InvalidArgument,
        format("%s: the %s is in use already: on another thread, or by a started run that is not done", call, used));
  }
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options) {
    plan_->unused.tell("run", plan_->host_log());
    return plan_->run(buffers, extents, options);
  }
  Status start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options) {
    plan_->unused.tell("start", plan_->host_log());
    buffers_.assign(buffers.begin(), buffers.end());  // the host's list may be gone after the call; names are not read
                                                      // later
    const Status status = plan_->start(buffers_, extents, options);
    is_going_ = status == Status::Ok;
    process_ = process_id();
    return status;
  }
  bool is_done() {
    if (is_going_ && !is_of_parent() && !plan_->ended()) return false;
    (void)wait();  // releases the plan and the State
    return true;
  }
  Status wait() {
    if (!is_going_) return status_;
    is_going_ = false;
    status_ = is_of_parent() ? fail(plan_->host_log(), Status::InvalidArgument,
                                    "wait: the run was started before the process was forked, and goes on in the other")
                             : plan_->finish();
    state_claim_.release();
    plan_claim_.release();
    return status_;
  }
  bool is_going() const { return is_going_; }

 private:
  bool is_of_parent() const { return process_id() != process_; }

  std::shared_ptr<PlanImpl> plan_;
  std::shared_ptr<StateImpl> state_;
  Claim plan_claim_, state_claim_;
  std::vector<HostBuffer> buffers_;
  bool is_going_ = false;
  Status status_ = Status::Ok;
  int64_t process_ = 0;  // the process that started the run
};

}  // namespace detail

namespace {

template <class T>
std::span<const T> span_of(std::initializer_list<T> list) {
  return {list.begin(), list.size()};
}

}  // namespace

Status Plan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options) {
  if (impl_ == nullptr) return refuse("Plan::run: the Plan is empty");
  detail::RunImpl run(impl_, options.state);
  const Status status = run.check("run");
  return status == Status::Ok ? run.run(buffers, extents, options) : status;
}
Status Plan::run(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents,
                 const RunOptions& options) {
  return run(span_of(buffers), span_of(extents), options);
}

Status Plan::start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options,
                   StartedRun* started) {
  if (impl_ == nullptr || started == nullptr) return refuse("Plan::start: the Plan is empty, or started is null");
  if (started->impl_ != nullptr && started->impl_->is_going())
    return fail(impl_->host_log(), Status::InvalidArgument,
                "start: *started holds a run that is not known to be done; wait for it first");
  auto run = std::make_unique<detail::RunImpl>(impl_, options.state);
  Status status = run->check("start");
  if (status == Status::Ok) status = run->start(buffers, extents, options);
  if (status == Status::Ok) started->impl_ = std::move(run);
  return status;
}
Status Plan::start(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents,
                   const RunOptions& options, StartedRun* started) {
  return start(span_of(buffers), span_of(extents), options, started);
}

StartedRun::StartedRun() = default;
StartedRun::~StartedRun() = default;
StartedRun::StartedRun(StartedRun&&) noexcept = default;
StartedRun& StartedRun::operator=(StartedRun&&) noexcept = default;
bool StartedRun::done() { return impl_ == nullptr || impl_->is_done(); }
Status StartedRun::wait() {
  return impl_ == nullptr ? refuse("StartedRun::wait: the StartedRun is empty") : impl_->wait();
}

}  // namespace heed
