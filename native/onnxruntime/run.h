// Runs of models.
#pragma once

namespace dlpack::onnxruntime {

struct Context;

// Asks the runs of a context to stop between two kernels. Any thread.
void StopRuns(Context* context);

// As above, for every run of the process.
void StopAllRuns();

}  // namespace dlpack::onnxruntime
