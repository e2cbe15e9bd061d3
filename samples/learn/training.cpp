#include "training.hpp"

#include <chrono>
#include <cstdio>
#include <optional>

#include "../progress.hpp"
#include "program.hpp"

namespace learn {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Training {
 public:
  Training(const Task& task, Losses& losses) : task_(task), losses_(losses) {}

  int run() {
    const auto first = static_cast<int64_t>(losses_.of_steps.size());
    const Clock::time_point start = Clock::now();
    Clock::time_point told = start;
    bar_.emplace("learning", "steps");
    int code = kOk;
    for (int64_t step = first; step < task_.steps && code == kOk && !interrupted(); ++step) {
      code = take_step(step);
      if (code != kOk) break;
      bar_->show(static_cast<uint64_t>(step + 1), static_cast<uint64_t>(task_.steps));
      const bool last = step + 1 == task_.steps;
      if (!last && seconds_since(told) < task_.every) continue;
      told = Clock::now();
      code = tell(step + 1, seconds_since(start) / static_cast<double>(step + 1 - first), last);
    }
    bar_.reset();
    std::string error;
    if (code == kOk && interrupted()) {
      if (!task_.keep(&error)) return bad_input(error);
      std::fprintf(stderr, "\nlearn: interrupted after %zu steps, saved in %s; the same command continues\n",
                   losses_.of_steps.size(), task_.folder.c_str());
      return kInterrupted;
    }
    return code;
  }

 private:
  int take_step(int64_t step) {
    float loss = 0;
    heed::train::StepReport report;
    const heed::Status status = task_.step(step, &loss, &report);
    if (status != heed::Status::Ok) return failed("training", status);
    losses_.of_steps.push_back(loss);
    if (report.taken < 0)
      std::fprintf(stderr, "\nlearn: step %lld was skipped, since its gradient is not finite\n",
                   static_cast<long long>(step));
    return kOk;
  }

  // Evaluates, saves a checkpoint, and prints a sample.
  int tell(int64_t steps, double seconds, bool last) {
    float loss = 0;
    const heed::Status status = task_.judge(&loss);
    if (status != heed::Status::Ok) return failed("evaluation", status);
    losses_.held_out.push_back({steps - 1, loss});
    bar_.reset();
    std::printf("step %lld of %lld: loss %.3f, held out %.3f; %.0f ms a step", static_cast<long long>(steps),
                static_cast<long long>(task_.steps), static_cast<double>(losses_.of_steps.back()),
                static_cast<double>(loss), seconds * 1e3);
    if (task_.each > 0) std::printf(", %.0f %s/s", static_cast<double>(task_.each) / seconds, task_.unit.c_str());
    std::printf("\n");
    std::string error;
    if (!task_.keep(&error)) return bad_input(error);
    const int code = task_.show(steps, last);
    if (!last) bar_.emplace("learning", "steps");
    return code;
  }

  const Task& task_;
  Losses& losses_;
  std::optional<samples::ProgressBar> bar_;
};

}  // namespace

int train(const Task& task, Losses& losses) { return Training(task, losses).run(); }

}  // namespace learn
