// Memory and events of other processes. In the fake the other process is this process: opened memory has its own
// address over the same bytes, so that races between the two are detected. Stricter than newer drivers: memory that is
// open cannot be opened again.
#include <string.h>
#include <unistd.h>

#include "state.h"

using namespace fake;
using namespace dlpack::cuda;

namespace {

enum : Result { kMapFailed = 205, kAlreadyMapped = 208 };

enum What : uint64_t { kMemory = 0x6d656d6f7279, kEvent = 0x6576656e74 };

struct Content {
  What kind;
  uint64_t process;
  uint64_t what;  // an address, or an event
};

IpcHandle Pack(What kind, uint64_t what) {
  const Content content{kind, static_cast<uint64_t>(getpid()), what};
  IpcHandle handle;
  memset(&handle, 0x5A, sizeof handle);
  memcpy(&handle, &content, sizeof content);
  return handle;
}

// 0 for handles that this process did not make.
uint64_t Unpack(What kind, const IpcHandle& handle) {
  Content content;
  memcpy(&content, &handle, sizeof content);
  const IpcHandle expected = Pack(kind, content.what);
  return memcmp(&expected, &handle, sizeof handle) == 0 ? content.what : 0;
}

Allocation* MappingOf(Address origin) {
  for (auto& entry : machine().allocations) {
    Allocation& found = entry.second;
    if (found.kind == Kind::kMapped && !found.freed && found.origin == origin) return &found;
  }
  return nullptr;
}

}  // namespace

FAKE_EXPORT(IpcGetMemHandle, cuIpcGetMemHandle)(IpcHandle* handle, Address address) {
  ENTER("cuIpcGetMemHandle");
  const Result forbidden = Forbidden("cuIpcGetMemHandle");
  if (forbidden != kSuccess) return forbidden;
  const Allocation* found = Find(address);
  if (found == nullptr || found->freed || found->kind != Kind::kDevice) return kInvalidValue;
  if (found->start != address) Report("error: cuIpcGetMemHandle of memory that does not start there");
  *handle = Pack(kMemory, found->start);
  return kSuccess;
}

FAKE_EXPORT(IpcOpenMemHandle, cuIpcOpenMemHandle_v2)(Address* address, IpcHandle handle, uint32_t flags) {
  ENTER("cuIpcOpenMemHandle_v2");
  const Result forbidden = Forbidden("cuIpcOpenMemHandle_v2");
  if (forbidden != kSuccess) return forbidden;
  if (address == nullptr || flags != kIpcLazyPeerAccess) return kInvalidValue;
  const Address origin = Unpack(kMemory, handle);
  Allocation* found = origin == 0 ? nullptr : Find(origin);
  if (found == nullptr || found->freed) return kMapFailed;
  if (MappingOf(origin) != nullptr) return kAlreadyMapped;
  *address = Map(found, Current()->device)->start;
  return kSuccess;
}

FAKE_EXPORT(IpcCloseMemHandle, cuIpcCloseMemHandle)(Address address) {
  ENTER("cuIpcCloseMemHandle");
  const Result forbidden = Forbidden("cuIpcCloseMemHandle");
  if (forbidden != kSuccess) return forbidden;
  Allocation* found = Find(address);
  if (found == nullptr || found->freed || found->kind != Kind::kMapped || found->start != address) {
    Report("error: cuIpcCloseMemHandle of what is not mapped at %#llx", static_cast<unsigned long long>(address));
    return kInvalidValue;
  }
  // The driver does not promise to wait here.
  ReportUsers("cuIpcCloseMemHandle", found);
  Release(found);
  return kSuccess;
}

FAKE_EXPORT(IpcGetEventHandle, cuIpcGetEventHandle)(IpcHandle* handle, EventHandle event) {
  ENTER("cuIpcGetEventHandle");
  const Event* found = FindEvent(event);
  if (found == nullptr || (found->flags & kEventInterprocess) == 0) return kInvalidHandle;
  *handle = Pack(kEvent, reinterpret_cast<uint64_t>(event));
  return kSuccess;
}

FAKE_EXPORT(IpcOpenEventHandle, cuIpcOpenEventHandle)(EventHandle* event, IpcHandle handle) {
  ENTER("cuIpcOpenEventHandle");
  const Result forbidden = Forbidden("cuIpcOpenEventHandle");
  if (forbidden != kSuccess) return forbidden;
  Event* origin = reinterpret_cast<Event*>(Unpack(kEvent, handle));
  if (event == nullptr || origin == nullptr || machine().events.count(origin) == 0) return kMapFailed;
  Event* made = new Event();
  made->context = Current();
  made->flags = kEventDisableTiming;
  made->origin = origin;
  machine().events.insert(made);
  *event = made;
  return kSuccess;
}
