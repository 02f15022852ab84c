// Calls of JavaScript functions by Python: at once on the JavaScript thread, over the channel from every other. Whoever
// waits here has let go of the GIL.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carried.h"
#include "function_type.h"
#include "pool.h"
#include "raised.h"

namespace dlpack {
namespace python {

static const char kEnding[] = "Expected a running JavaScript environment for this function but it is ending, or its stack is full";

// In place of `failed`, until JavaScript has read its arguments; src/python/callbacks.ts overwrites it.
static const uint32_t kUnread = 0xffffffff;

// Arguments of one call, positional first, then names and values.
struct Arguments {
  Carried values[kMaxCells];
  uint32_t count;
  uint32_t keywords;
};

struct Request {
  Message message;
  Request* next;  // of those without an answer
  Channel* channel;
  uint32_t id;
  uint32_t function;
  Arguments arguments;
  pthread_cond_t answered;
  bool is_answered;
  bool is_of_pool;
  bool is_postponed;
  bool has_failed;
  Object* result;  // or the exception; NULL when the environment is ending
};

// GIL held.
static bool Read(Object* positional, Object* keywords, Arguments* out) {
  const ptrdiff_t count = api.PyTuple_Size(positional);
  const ptrdiff_t pairs = keywords == nullptr ? 0 : api.PyDict_Size(keywords);
  if (count + 2 * pairs > kMaxCells) {
    char text[80];
    snprintf(text, sizeof(text), "Expected at most %u arguments for a JavaScript function", kMaxCells);
    api.PyErr_SetString(api.PyExc_TypeError, text);
    return false;
  }
  out->count = 0;
  for (ptrdiff_t i = 0; i < count; ++i) {
    Object* value = api.PyTuple_GetItem(positional, i);
    api.Py_IncRef(value);
    Carry(value, &out->values[out->count++]);
  }
  ptrdiff_t at = 0;
  Object *name, *value;
  while (pairs > 0 && api.PyDict_Next(keywords, &at, &name, &value)) {
    CarryText(name, &out->values[out->count++]);
    api.Py_IncRef(value);
    Carry(value, &out->values[out->count++]);
  }
  out->keywords = static_cast<uint32_t>(pairs);
  return true;
}

static void DropArguments(Arguments* arguments) {
  for (uint32_t i = 0; i < arguments->count; ++i) DropCarried(&arguments->values[i]);
}

// Hands a call to JavaScript: `request` is 0 for one that is answered at once. False when JavaScript could not run it.
// JavaScript thread, without the GIL.
static bool Dispatch(Channel* channel, uint32_t function, uint32_t request, Arguments* arguments, napi_value* result) {
  napi_env env = channel->env;
  Objects* objects = channel->objects;
  ObjectFrame* frame = objects->frame;
  napi_value texts[kMaxCells];
  size_t count = 0;
  const uint32_t cells = arguments->count;  // an answer frees the arguments
  for (uint32_t i = 0; i < cells; ++i) {
    const bool has_text = arguments->values[i].text != nullptr;
    napi_value text = Deliver(env, objects, &arguments->values[i], &frame->cells[i]);
    if (has_text && text == nullptr) napi_get_undefined(env, &text);
    if (has_text) texts[count++] = text;
  }
  frame->operation = function;
  frame->count = cells;
  frame->keywords = arguments->keywords;
  frame->result.handle = request;
  frame->failed = kUnread;
  if (CallJavaScript(channel, channel->on_call, count, texts, result)) return true;
  // It failed before it had read all: then nothing else has used the frame, and what was read is marked.
  for (uint32_t i = 0; frame->failed == kUnread && i < cells; ++i) {
    Object* object = frame->cells[i].kind == kHandle ? DropObject(objects, frame->cells[i].handle) : nullptr;
    if (object != nullptr) DeferDecRef(object);
  }
  return false;
}

// Raises an exception, or a RuntimeError with that text; the reference is taken over. GIL held.
static Object* Raise(Object* exception) {
  Ref value(exception);
  if (!value) return nullptr;
  Object* type = TypeOf(value.get());
  if (type == api.PyUnicode_Type) {
    api.PyErr_SetObject(api.PyExc_RuntimeError, value.get());
  } else if (api.PyType_IsSubtype(type, api.PyExc_BaseException)) {
    api.PyErr_SetObject(type, value.get());
  } else {
    api.PyErr_SetString(api.PyExc_TypeError, "Expected an exception of Python in the PythonError that JavaScript threw");
  }
  return nullptr;
}

// JavaScript thread, GIL held: let go of while JavaScript runs.
static Object* CallHere(Channel* channel, uint32_t function, Arguments* arguments) {
  Objects* objects = channel->objects;
  napi_env env = channel->env;
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) {
    DropArguments(arguments);
    api.PyErr_SetString(api.PyExc_RuntimeError, kEnding);
    return nullptr;
  }
  // Python runs code wherever it frees or allocates something: an operation may be halfway through the frames.
  const ObjectFrame saved = *objects->frame;
  const Frame saved_exchange = *objects->environment->frame;
  Object* thread = api.PyEval_SaveThread();
  napi_value text = nullptr;
  const bool is_done = Dispatch(channel, function, 0, arguments, &text);
  const Cell cell = objects->frame->cells[0];
  const bool has_failed = objects->frame->failed != 0;
  *objects->frame = saved;
  *objects->environment->frame = saved_exchange;
  api.PyEval_RestoreThread(thread);
  Object* result = nullptr;
  if (is_done) {
    Texts texts = {env, &text, 1, 0};
    result = ToPython(objects, cell, &texts);
    if (has_failed) result = Raise(result);
  } else {
    api.PyErr_SetString(api.PyExc_RuntimeError, kEnding);
  }
  napi_close_handle_scope(env, scope);
  return result;
}

static Request* OfMessage(Message* message) { return reinterpret_cast<Request*>(message); }

// Mutex held, GIL not needed: `result` was made with it. The thread that waits may be gone with the request afterwards.
static void Fulfil(Request* request, Object* result, bool has_failed) {
  Request** at = &request->channel->requests;
  while (*at != request) at = &(*at)->next;
  *at = request->next;
  request->result = result;
  request->has_failed = has_failed;
  request->is_answered = true;
  pthread_cond_signal(&request->answered);
}

// Answers the request of this number; false, with nothing taken, when there is none. Any thread.
static bool FulfilById(Channel* channel, uint32_t id, Object* result, bool has_failed) {
  pthread_mutex_lock(&channel->mutex);
  Request* request = channel->requests;
  while (request != nullptr && request->id != id) request = request->next;
  if (request != nullptr) Fulfil(request, result, has_failed);
  pthread_mutex_unlock(&channel->mutex);
  return request != nullptr;
}

void RefuseRequests(Channel* channel) {
  while (channel->requests != nullptr) Fulfil(channel->requests, nullptr, true);
}

// JavaScript thread, from the event loop. The request is on the stack of a thread that waits: until it has its answer.
static void DeliverRequest(Channel* channel, Message* message) {
  Request* request = OfMessage(message);
  const uint32_t id = request->id;
  if (!Dispatch(channel, request->function, id, &request->arguments, nullptr)) FulfilById(channel, id, nullptr, true);
}

// Refused already, and perhaps gone.
static void DropRequest(Message*) {}

// Any other thread, GIL held: let go of while it waits.
static Object* CallThere(Channel* channel, uint32_t function, Request* request) {
  request->message.deliver = DeliverRequest;
  request->message.drop = DropRequest;
  request->channel = channel;
  request->function = function;
  request->is_of_pool = IsPoolThread();
  request->is_answered = request->is_postponed = false;
  pthread_cond_init(&request->answered, nullptr);
  Object* thread = api.PyEval_SaveThread();
  pthread_mutex_lock(&channel->mutex);
  bool is_open = !channel->is_closed;
  if (is_open) {
    request->id = ++channel->last_request;
    request->next = channel->requests;
    channel->requests = request;
    PostLocked(channel, &request->message);
    while (!request->is_answered) pthread_cond_wait(&request->answered, &channel->mutex);
  } else {
    request->result = nullptr;
    request->has_failed = true;
  }
  pthread_mutex_unlock(&channel->mutex);
  if (request->is_postponed) EndPoolWait();
  api.PyEval_RestoreThread(thread);
  pthread_cond_destroy(&request->answered);
  DropArguments(&request->arguments);  // what was delivered is empty
  if (request->result == nullptr) {
    api.PyErr_SetString(api.PyExc_RuntimeError, kEnding);
    return nullptr;
  }
  return request->has_failed ? Raise(request->result) : request->result;
}

Object* CallFunction(Object* self, Object* positional, Object* keywords) {
  const FunctionBody* body = FunctionBodyOf(self);
  Channel* channel = body->channel;
  const bool is_own = IsOwnThread(channel);
  if (!is_own && IsJavaScriptThread()) {
    // Two event loops that wait for each other would wait for ever.
    api.PyErr_SetString(api.PyExc_RuntimeError,
                        "Expected a call on the JavaScript thread that made this function, or on a thread of Python, but "
                        "received one on another JavaScript thread; use callAsync there");
    return nullptr;
  }
  Request* request = static_cast<Request*>(malloc(sizeof(Request)));
  if (request == nullptr) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for a call");
    return nullptr;
  }
  Object* result = nullptr;
  if (Read(positional, keywords, &request->arguments)) {
    result = is_own ? CallHere(channel, body->number, &request->arguments) : CallThere(channel, body->number, request);
  }
  free(request);
  return result;
}

// answer(text): cell 0 is the value, or the exception where `failed` is set, for the request in the result cell.
napi_value Answer(napi_env env, napi_callback_info info) {
  napi_value text;
  Channel* channel = ChannelOf(env, info, &text);
  Objects* objects = channel->objects;
  const Cell cell = objects->frame->cells[0];
  const uint32_t id = objects->frame->result.handle;
  bool has_failed = objects->frame->failed != 0;
  Gil gil;
  Texts texts = {env, &text, 1, 0};
  Object* result = ToPython(objects, cell, &texts);
  if (result == nullptr) {
    Raised raised;
    result = raised.exception.take();
    has_failed = true;
  }
  if (!FulfilById(channel, id, result, has_failed) && result != nullptr) api.Py_DecRef(result);
  return nullptr;
}

// postpone(): the request in the result cell waits for a promise. `failed` becomes 1 when too many do.
napi_value Postpone(napi_env env, napi_callback_info info) {
  Channel* channel = ChannelOf(env, info);
  ObjectFrame* frame = channel->objects->frame;
  const uint32_t id = frame->result.handle;
  pthread_mutex_lock(&channel->mutex);
  Request* request = channel->requests;
  while (request != nullptr && request->id != id) request = request->next;
  bool good = request != nullptr;
  if (good && request->is_of_pool) good = request->is_postponed = BeginPoolWait();
  pthread_mutex_unlock(&channel->mutex);
  frame->failed = !good;
  return nullptr;
}

}  // namespace python
}  // namespace dlpack
