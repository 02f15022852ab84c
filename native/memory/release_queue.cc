#include "release_queue.h"

#include <stdlib.h>

#include <new>

#include "../forked.h"
#include "../lock.h"
#include "collection.h"
#include "kept_blocks.h"

namespace dlpack {

// A number and its queue. It is allocated with the storage, because a release must not fail.
struct Released {
  ReleaseQueue* queue;
  uint64_t id;
  uint64_t garbage;  // bytes that wait for the garbage collector from then on
  Released* next;
};

// Never freed, because after the environment's hooks have run Bun still calls a thread-safe function, and Node still
// empties its queue. This costs one small block for each environment.
struct ReleaseQueue {
  Lock lock;  // guards all below
  napi_threadsafe_function wake;
  napi_ref on_release;  // JavaScript thread
  bool closed;
  bool is_woken;  // the event loop will call Drain
  Released* head;
  uint64_t garbage;    // bytes that were released since the last requested collection; JavaScript thread
  ReleaseQueue* next;  // guarded by queues_lock
};

// The queues of all environments that have not ended.
static Lock queues_lock;
static ReleaseQueue* queues;

static void FreeAll(Released* node) {
  while (node != nullptr) {
    Released* next = node->next;
    free(node);
    node = next;
  }
}

// V8 does not count the bytes of a SharedArrayBuffer, so garbage would pile up without requests. The amount is above
// V8's limits, so that it collects before the call returns, and a loop in one tick needs no more memory than this.
static const uint64_t kMostGarbage = uint64_t{128} << 20;
static const int64_t kRequestAmount = int64_t{4} << 30;

static void AddGarbage(ReleaseQueue* queue, napi_env env, uint64_t bytes) {
  queue->garbage += bytes;
  if (queue->garbage < kMostGarbage) return;
  queue->garbage = 0;
  RequestCollection(env, kRequestAmount);
}

// JavaScript thread.
static void Drain(napi_env env, napi_value on_release, ReleaseQueue* queue, bool is_from_loop) {
  Released* node;
  uint64_t garbage = 0;
  {
    LockScope scope(&queue->lock);
    node = queue->head;
    queue->head = nullptr;
    if (is_from_loop) queue->is_woken = false;
  }
  while (node != nullptr) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) == napi_ok) {
      napi_value undefined, id;
      if (napi_get_undefined(env, &undefined) == napi_ok &&
          napi_create_double(env, static_cast<double>(node->id), &id) == napi_ok) {
        // The JavaScript function catches errors of deleters, so this fails only when the environment is terminated.
        napi_call_function(env, undefined, on_release, 1, &id, nullptr);
      }
      napi_close_handle_scope(env, scope);
    }
    garbage += node->garbage;
    Released* next = node->next;
    free(node);
    node = next;
  }
  AddGarbage(queue, env, garbage);
}

// JavaScript thread, from the event loop.
static void Wake(napi_env env, napi_value on_release, void* context, void*) {
  if (env == nullptr || on_release == nullptr) return;  // the thread-safe function is being destroyed
  Drain(env, on_release, static_cast<ReleaseQueue*>(context), true);
}

// JavaScript thread, before Node-API destroys the thread-safe function.
static void Close(void* data) {
  ReleaseQueue* queue = static_cast<ReleaseQueue*>(data);
  {
    LockScope scope(&queues_lock);
    ReleaseQueue** at = &queues;
    while (*at != queue) at = &(*at)->next;
    *at = queue->next;
  }
  {
    LockScope scope(&queue->lock);
    queue->closed = true;
    FreeAll(queue->head);
    queue->head = nullptr;
  }
  EndWatch(queue);  // after the queue left the list, so that the watch does not return to it
}

ReleaseQueue* CreateReleaseQueue(napi_env env, napi_value on_release) {
  void* block = malloc(sizeof(ReleaseQueue));
  if (block == nullptr) return nullptr;
  ReleaseQueue* queue = new (block) ReleaseQueue();
  napi_value name;
  if (napi_create_string_utf8(env, "dlpack.release", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_reference(env, on_release, 1, &queue->on_release) != napi_ok ||
      napi_create_threadsafe_function(env, on_release, nullptr, name, 0, 1, nullptr, nullptr, queue, Wake,
                                      &queue->wake) != napi_ok) {
    free(queue);
    return nullptr;
  }
  // A tensor waiting for its release must not keep the process running.
  napi_unref_threadsafe_function(env, queue->wake);
  {
    LockScope scope(&queues_lock);
    queue->next = queues;
    queues = queue;
  }
  // Cleanup hooks run last in, first out. The thread-safe function added its hook before, so this hook runs first.
  napi_add_env_cleanup_hook(env, Close, queue);
  return queue;
}

void RunReleased(ReleaseQueue* queue, napi_env env) {
  napi_value on_release;
  if (napi_get_reference_value(env, queue->on_release, &on_release) == napi_ok) Drain(env, on_release, queue, false);
}

// Hands a number to JavaScript. False when the environment has ended; the caller keeps the node then. Any thread.
static bool Post(Released* node) {
  ReleaseQueue* queue = node->queue;
  LockScope scope(&queue->lock);
  if (queue->closed) return false;
  node->next = queue->head;
  queue->head = node;
  // Once for each turn of the event loop: each call takes memory until then, and RunReleased may empty the queue often.
  if (!queue->is_woken) {
    queue->is_woken = napi_call_threadsafe_function(queue->wake, nullptr, napi_tsfn_nonblocking) == napi_ok;
  }
  return true;
}

ReleaseQueue* PostToAnyQueue(uint64_t id) {
  Released* node = static_cast<Released*>(malloc(sizeof(Released)));
  if (node == nullptr) return nullptr;
  node->id = id;
  node->garbage = 0;
  LockScope scope(&queues_lock);
  for (ReleaseQueue* queue = queues; queue != nullptr; queue = queue->next) {
    node->queue = queue;
    if (Post(node)) return queue;
  }
  free(node);
  return nullptr;
}

static void ReleaseQueued(Storage* self) {
  Released* node = static_cast<Released*>(self->owner);
  FreeStorage(self);
  // A forked process has no JavaScript thread to notify, and the lock may be held by a thread that does not exist
  // there.
  if (is_forked || !Post(node)) free(node);
}

static void DestroyLent(Storage* self) {
  Count(Counter::kImports, -1);
  ReleaseQueued(self);
}

static void DestroyNew(Storage* self) {
  CountStorage(self, -1);
  ReleaseQueued(self);
}

Storage* WrapQueued(ReleaseQueue* queue, uint64_t id, void* data, uint64_t nbytes, bool is_new) {
  Released* node = static_cast<Released*>(malloc(sizeof(Released)));
  if (node == nullptr) return nullptr;
  *node = Released{queue, id, is_new ? nbytes : 0, nullptr};
  Storage* storage = WrapStorage(data, nbytes, is_new ? DestroyNew : DestroyLent, node, 0);
  if (storage == nullptr) {
    free(node);
    return nullptr;
  }
  if (is_new) {
    CountStorage(storage, 1);
  } else {
    Count(Counter::kImports, 1);
  }
  return storage;
}

uint64_t QueuedId(const Storage* storage, const ReleaseQueue* queue) {
  if (storage->destroy != DestroyLent && storage->destroy != DestroyNew) return 0;
  const Released* node = static_cast<const Released*>(storage->owner);
  return node->queue == queue ? node->id : 0;
}

}  // namespace dlpack
