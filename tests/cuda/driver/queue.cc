// Streams as queues, the order between operations, and captures.
#include <algorithm>
#include <chrono>

#include "state.h"

namespace fake {

using namespace dlpack::cuda;

Stream* NewStream(PrimaryContext* context, bool blocking) {
  Stream* stream = new Stream();
  stream->context = context;
  stream->blocking = blocking;
  machine().streams.insert(stream);
  return stream;
}

// The object stays in memory, so that its handle never refers to another stream.
void DropWhenDone(Stream* stream) {
  if (stream->destroyed && stream->queue.empty()) machine().streams.erase(stream);
}

Stream* FindStream(void* handle, Result* code) {
  Machine& m = machine();
  *code = kSuccess;
  PrimaryContext* context = Current();
  if (handle == nullptr || handle == kLegacyStream) return context->legacy;
  if (handle == kPerThreadStream) {
    Stream*& stream = m.per_thread[{thread().id, context}];
    if (stream == nullptr) stream = NewStream(context, true);
    return stream;
  }
  Stream* stream = static_cast<Stream*>(handle);
  if (m.streams.count(stream) == 0 || stream->destroyed) {
    Report("error: stream %p does not exist", handle);
    *code = kInvalidHandle;
    return nullptr;
  }
  if (stream->context != context) {
    *code = kInvalidHandle;
    return nullptr;
  }
  return stream;
}

Event* FindEvent(void* handle) {
  Event* event = static_cast<Event*>(handle);
  if (machine().events.count(event) != 0) return event;
  if (handle != nullptr) Report("error: event %p does not exist", handle);
  return nullptr;
}

OperationRef RecordOf(const Event* event) {
  if (event->origin == nullptr) return event->record;
  if (machine().events.count(event->origin) != 0) return event->origin->record;
  Report("error: an event is used after the process that made it destroyed it");
  return nullptr;
}

std::string NameOf(const Stream* stream) {
  if (stream->legacy) return "the legacy stream";
  char text[32];
  snprintf(text, sizeof text, "stream %p", static_cast<const void*>(stream));
  return text;
}

// Only operations that have not run yet have dependencies, because everything before a finished operation is finished
// too.
std::set<const Operation*> Before(const OperationRef& operation) {
  std::set<const Operation*> seen;
  std::vector<const Operation*> open{operation.get()};
  while (!open.empty()) {
    const Operation* next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    for (const OperationRef& before : next->after) open.push_back(before.get());
  }
  return seen;
}

Result Accepts(Stream* stream) {
  if (stream->capture != nullptr) return static_cast<Result>(stream->capture->invalidated ? kCaptureBroken : 0);
  if (!stream->legacy) return kSuccess;
  for (const auto& capture : machine().captures) {
    // The legacy stream would wait for a blocking stream that captures.
    if (capture->origin->blocking && capture->origin->context == stream->context) {
      capture->invalidated = true;
      return kCaptureImplicit;
    }
  }
  return kSuccess;
}

OperationRef Enqueue(Stream* stream, std::string name, std::vector<Touch> touches, std::function<void()> effect) {
  auto operation = std::make_shared<Operation>();
  operation->name = std::move(name);
  operation->stream = stream;
  operation->touches = std::move(touches);
  operation->effect = std::move(effect);
  if (stream->capture != nullptr) {
    if (stream->captured_last != nullptr) operation->after.push_back(stream->captured_last);
    stream->captured_last = operation;
    stream->capture->operations.push_back(operation);
    return operation;
  }
  const auto follow = [&](const OperationRef& before) {
    if (before != nullptr && !before->done) operation->after.push_back(before);
  };
  follow(stream->last);
  if (stream->legacy) {
    for (Stream* other : machine().streams) {
      if (other->context == stream->context && other->blocking && other != stream) follow(other->last);
    }
  } else if (stream->blocking) {
    follow(stream->context->legacy->last);
  }
  stream->queue.push_back(operation);
  stream->last = operation;
  CheckTouches(operation);
  return operation;
}

bool RunTo(const OperationRef& operation) {
  if (operation == nullptr || operation->done) return true;
  // Depth first without recursion, because a chain over many streams may be long.
  std::vector<OperationRef> stack{operation};
  while (!stack.empty()) {
    const OperationRef top = stack.back();
    if (top->done) {
      stack.pop_back();
      continue;
    }
    const auto open = std::find_if(top->after.begin(), top->after.end(), [](const auto& o) { return !o->done; });
    if (open != top->after.end()) {
      stack.push_back(*open);
      continue;
    }
    if (top->closed) return false;
    top->done = true;
    top->after.clear();
    auto& queue = top->stream->queue;
    queue.erase(std::find(queue.begin(), queue.end(), top));
    top->time = Now();
    if (top->effect) top->effect();
    top->effect = nullptr;
    DropWhenDone(top->stream);
    stack.pop_back();
  }
  return true;
}

void RunReady() {
  const std::set<Stream*> streams = machine().streams;
  for (Stream* stream : streams) {
    // One after the other, so that all operations before a closed gate run.
    while (!stream->queue.empty() && RunTo(stream->queue.front())) {
    }
  }
}

Result Await(Lock& lock, const OperationRef& operation, const char* symbol) {
  const OperationRef kept = operation;
  const double end = Now() + machine().patience;
  while (!RunTo(kept)) {
    const double left = end - Now();
    if (left <= 0) {
      Report("error: %s waited for a delayed stream for %g ms", symbol, machine().patience);
      return kLaunchTimeout;
    }
    machine().changed.wait_for(lock, std::chrono::duration<double, std::milli>(left));
  }
  return kept == nullptr ? Result{kSuccess} : kept->stream->context->failure;
}

Result AwaitContext(Lock& lock, PrimaryContext* context, const char* symbol) {
  const std::set<Stream*> streams = machine().streams;
  for (Stream* stream : streams) {
    if (stream->context != context) continue;
    const Result code = Await(lock, stream->last, symbol);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

Result ForbiddenToAll(const char* symbol) {
  Result code = kSuccess;
  for (const auto& capture : machine().captures) {
    if (!capture->invalidated) Report("error: %s breaks the capture of %s", symbol, NameOf(capture->origin).c_str());
    capture->invalidated = true;
    code = kCaptureUnsupported;
  }
  return code;
}

Result Forbidden(const char* symbol) {
  const Thread& self = thread();
  if (self.mode == kCaptureRelaxed) return kSuccess;
  Result code = kSuccess;
  for (const auto& capture : machine().captures) {
    if (capture->mode == kCaptureRelaxed) continue;
    const bool own = capture->thread == self.id;
    const bool everyone = capture->mode == kCaptureGlobal && self.mode == kCaptureGlobal;
    if (!own && !everyone) continue;
    if (!capture->invalidated) Report("error: %s breaks the capture of %s", symbol, NameOf(capture->origin).c_str());
    capture->invalidated = true;
    code = kCaptureUnsupported;
  }
  return code;
}

}  // namespace fake

using namespace fake;
using namespace dlpack::cuda;

namespace {
// The operations that a wait for the stream waits for. The legacy stream includes every blocking stream of its context.
std::vector<OperationRef> LastOf(Stream* stream) {
  std::vector<OperationRef> result;
  for (Stream* other : machine().streams) {
    const bool counts = other == stream || (stream->legacy && other->blocking && other->context == stream->context);
    if (counts && other->last != nullptr) result.push_back(other->last);
  }
  return result;
}

// Whether a call may wait for or query the stream. It must not while the stream captures, or while a capture forbids
// the call on this thread.
Result MayAsk(Stream* stream, const char* symbol) {
  if (stream->capture == nullptr) return Forbidden(symbol);
  Report("error: %s breaks the capture of %s", symbol, NameOf(stream).c_str());
  stream->capture->invalidated = true;
  return kCaptureUnsupported;
}
}  // namespace

FAKE_EXPORT(StreamCreateWithPriority, cuStreamCreateWithPriority)(StreamHandle* stream, uint32_t flags, int32_t) {
  ENTER("cuStreamCreateWithPriority");
  if (stream == nullptr || flags > kStreamNonBlocking) return kInvalidValue;
  Stream* made = NewStream(Current(), (flags & kStreamNonBlocking) == 0);
  made->own = true;
  *stream = made;
  return kSuccess;
}

FAKE_EXPORT(StreamDestroy, cuStreamDestroy_v2)(StreamHandle stream) {
  ENTER("cuStreamDestroy_v2");
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return kInvalidHandle;
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  // Queued work still runs, as the driver promises.
  found->destroyed = true;
  DropWhenDone(found);
  return kSuccess;
}

FAKE_EXPORT(StreamSynchronize, cuStreamSynchronize)(StreamHandle stream) {
  ENTER("cuStreamSynchronize");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  code = MayAsk(found, "cuStreamSynchronize");
  if (code != kSuccess) return code;
  for (const OperationRef& last : LastOf(found)) {
    code = Await(call.lock, last, "cuStreamSynchronize");
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

FAKE_EXPORT(StreamQuery, cuStreamQuery)(StreamHandle stream) {
  ENTER("cuStreamQuery");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  code = MayAsk(found, "cuStreamQuery");
  if (code != kSuccess) return code;
  for (const OperationRef& last : LastOf(found)) {
    if (machine().queries_run) RunTo(last);
    if (!last->done) return kNotReady;
  }
  return kSuccess;
}

FAKE_EXPORT(StreamWaitEvent, cuStreamWaitEvent)(StreamHandle stream, EventHandle event, uint32_t) {
  ENTER("cuStreamWaitEvent");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  Event* of = FindEvent(event);
  if (of == nullptr) return kInvalidHandle;
  const OperationRef record = RecordOf(of);
  if (record == nullptr) return kSuccess;
  if (of->capture != nullptr) {
    // A stream that waits for captured work joins the capture.
    if (found->capture == nullptr) {
      if (!found->queue.empty()) Report("note: %s joins a capture with work queued", NameOf(found).c_str());
      if (found->legacy) return kCaptureImplicit;
      found->capture = of->capture;
      found->captured_last = nullptr;
    } else if (found->capture != of->capture) {
      found->capture->invalidated = of->capture->invalidated = true;
      return kCaptureIsolation;
    }
  } else if (found->capture != nullptr) {
    found->capture->invalidated = true;
    return kCaptureIsolation;
  }
  code = Accepts(found);
  if (code != kSuccess) return code;
  const OperationRef wait = Enqueue(found, "wait", {}, nullptr);
  if (!record->done) wait->after.push_back(record);
  return kSuccess;
}

FAKE_EXPORT(StreamGetFlags, cuStreamGetFlags)(StreamHandle stream, uint32_t* flags) {
  ENTER("cuStreamGetFlags");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  *flags = found->blocking ? 0 : 1;
  return kSuccess;
}

FAKE_EXPORT(StreamIsCapturing, cuStreamIsCapturing)(StreamHandle stream, CaptureStatus* status) {
  ENTER("cuStreamIsCapturing");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  if (found->legacy && Accepts(found) != kSuccess) return kCaptureImplicit;
  *status = found->capture == nullptr     ? kCaptureNone
            : found->capture->invalidated ? kCaptureInvalidated
                                          : kCaptureActive;
  return kSuccess;
}

FAKE_EXPORT(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)(CaptureMode* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode", Needs::kInit);
  if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
  std::swap(thread().mode, *mode);
  return kSuccess;
}

FAKE_EXPORT(EventCreate, cuEventCreate)(EventHandle* event, uint32_t flags) {
  ENTER("cuEventCreate");
  const bool is_plain = (flags & kEventInterprocess) == 0 || (flags & kEventDisableTiming) != 0;
  if (event == nullptr || flags > 7 || !is_plain) return kInvalidValue;
  Event* made = new Event();
  made->context = Current();
  made->flags = flags;
  machine().events.insert(made);
  *event = made;
  return kSuccess;
}

FAKE_EXPORT(EventDestroy, cuEventDestroy_v2)(EventHandle event) {
  ENTER("cuEventDestroy_v2");
  Event* found = FindEvent(event);
  if (found == nullptr) return kInvalidHandle;
  found->record = nullptr;
  machine().events.erase(found);
  return kSuccess;
}

FAKE_EXPORT(EventRecord, cuEventRecord)(EventHandle event, StreamHandle stream) {
  ENTER("cuEventRecord");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  Event* of = FindEvent(event);
  if (of == nullptr || of->context != found->context) return kInvalidHandle;
  code = Accepts(found);
  if (code != kSuccess) return code;
  of->record = Enqueue(found, "record", {}, nullptr);
  of->capture = found->capture;
  return kSuccess;
}

FAKE_EXPORT(EventQuery, cuEventQuery)(EventHandle event) {
  ENTER("cuEventQuery", Needs::kInit);
  Event* found = FindEvent(event);
  if (found == nullptr) return kInvalidHandle;
  if (found->capture != nullptr) {
    found->capture->invalidated = true;
    return kCapturedEvent;
  }
  const Result code = Forbidden("cuEventQuery");
  if (code != kSuccess) return code;
  if (found->context->failure != kSuccess) return found->context->failure;
  const OperationRef record = RecordOf(found);
  if (machine().queries_run) RunTo(record);
  return record == nullptr || record->done ? kSuccess : kNotReady;
}

FAKE_EXPORT(EventSynchronize, cuEventSynchronize)(EventHandle event) {
  ENTER("cuEventSynchronize", Needs::kInit);
  Event* found = FindEvent(event);
  if (found == nullptr) return kInvalidHandle;
  if (found->capture != nullptr) {
    found->capture->invalidated = true;
    return kCapturedEvent;
  }
  const Result code = Forbidden("cuEventSynchronize");
  if (found->context->failure != kSuccess) return found->context->failure;
  return code != kSuccess ? code : Await(call.lock, RecordOf(found), "cuEventSynchronize");
}

FAKE_EXPORT(EventElapsedTime, cuEventElapsedTime)(float* milliseconds, EventHandle start, EventHandle end) {
  ENTER("cuEventElapsedTime", Needs::kInit);
  const Event* events[] = {FindEvent(start), FindEvent(end)};
  for (const Event* event : events) {
    if (event == nullptr || event->record == nullptr || (event->flags & kEventDisableTiming) != 0)
      return kInvalidHandle;
    if (event->capture != nullptr) return kCapturedEvent;
  }
  if (!events[0]->record->done || !events[1]->record->done) return kNotReady;
  *milliseconds = static_cast<float>(events[1]->record->time - events[0]->record->time);
  return kSuccess;
}
