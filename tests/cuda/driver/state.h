// The state of the fake driver: devices in host memory, streams as queues that run only when something forces them.
// Everything here is read and written under `Machine::mutex`, by whichever thread calls the driver.
#ifndef DLPACK_TESTS_FAKE_CUDA_STATE_H_
#define DLPACK_TESTS_FAKE_CUDA_STATE_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../../native/cuda/driver.h"

namespace fake {

using dlpack::cuda::Address;
using dlpack::cuda::CaptureMode;
using dlpack::cuda::Result;

// Codes of the driver that only the fake returns.
enum : Result {
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kCaptureUnsupported = 900,
  kCaptureBroken = 901,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
};

struct Stream;
struct Operation;
using OperationRef = std::shared_ptr<Operation>;

enum class Kind { kDevice, kPool, kPinned, kManaged, kMapped };

struct Allocation {
  Address start;
  size_t bytes;
  Kind kind;
  int device;
  char* memory;        // NULL once freed on the device: what is read then is 0xDD; NULL for what is mapped
  Address origin = 0;  // of what is mapped: where its maker has it
  bool freed = false;
  OperationRef made;   // the stream-ordered allocation, until it ran
  OperationRef ended;  // the stream-ordered free
  std::vector<OperationRef> users;
  bool OnHost() const { return kind == Kind::kPinned || kind == Kind::kManaged; }
};

// Bytes that an operation reads or writes.
struct Touch {
  Address start;
  size_t bytes;
  bool writes;
};

struct Operation {
  std::string name;
  Stream* stream = nullptr;
  std::function<void()> effect;
  std::vector<OperationRef> after;  // cleared when it ran
  std::vector<Touch> touches;
  bool done = false;
  bool closed = false;  // a gate: runs when it is released
  double time = 0;
};

struct Capture {
  Stream* origin;
  CaptureMode mode;
  uint64_t thread;
  bool invalidated = false;
  std::vector<OperationRef> operations;
};

struct PrimaryContext {
  int device;
  int retained = 0;
  Stream* legacy;
  Result failure = dlpack::cuda::kSuccess;  // the device failed: nothing runs any more, and every call ends with this
};

struct Stream {
  PrimaryContext* context;
  bool blocking;
  bool legacy = false;
  bool destroyed = false;
  bool own = false;                 // made by cuStreamCreate, not one that every context has
  std::vector<OperationRef> queue;  // what did not run yet, the oldest first
  OperationRef last;                // what ran or was queued last
  std::shared_ptr<Capture> capture;
  OperationRef captured_last;
};

struct Event {
  PrimaryContext* context;
  uint32_t flags;
  OperationRef record;
  std::shared_ptr<Capture> capture;  // when it was recorded in one
  Event* origin = nullptr;           // of one that was opened: the maker's
};

struct Device {
  size_t limit = size_t{8} << 30;
  size_t used = 0;
  PrimaryContext context;
  int uuid;  // the last byte; the others are 0xFA
  std::map<int32_t, int32_t> attributes;
};

struct Pool {
  int device;
  uint64_t threshold = 0;
};

struct LoadedModule {
  std::string text;
  PrimaryContext* context;
};

struct Kernel {
  std::string name;
  size_t item;  // bytes
  bool transposes;
  PrimaryContext* context = nullptr;
};

struct Injection {
  Result code;
  int64_t skip;
};

struct Machine {
  std::mutex mutex;
  std::condition_variable changed;  // a gate opened
  bool initialised = false;
  int version = 13000;
  bool unknown_pointers_fail = false;
  bool queries_run = false;
  double patience = 5000;  // milliseconds that a call waits for a gate
  std::vector<std::unique_ptr<Device>> devices;
  // By start; a freed one stays so that its use is recognised.
  std::map<Address, Allocation> allocations;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Pool*> pools;
  std::set<LoadedModule*> modules;
  std::set<Kernel*> kernels;
  std::map<std::pair<uint64_t, PrimaryContext*>, Stream*> per_thread;
  std::set<std::shared_ptr<Capture>> captures;
  std::map<std::string, Injection> injections;
  // Run in the middle of the next call of a function, without the lock.
  std::map<std::string, std::function<void()>> interruptions;
  std::map<std::string, double> calls;
  std::vector<std::string> errors;
};

Machine& machine();

// Contexts of the calling thread, the current one last, and its capture mode.
struct Thread {
  uint64_t id;
  std::vector<PrimaryContext*> contexts;
  CaptureMode mode = dlpack::cuda::kCaptureGlobal;
  uint64_t generation = 0;
};
Thread& thread();
void NewGeneration();
PrimaryContext* Current();

__attribute__((format(printf, 1, 2))) void Report(const char* format, ...);
void SetDevices(int count);
double Now();

// Entry of every driver function: locks, counts, injects. `code` is what to return at once when it is not success.
enum class Needs { kNothing, kInit, kContext };
struct Call {
  explicit Call(const char* symbol, Needs needs = Needs::kContext);
  std::unique_lock<std::mutex> lock;
  Result code;
};

// queue.cc
using Lock = std::unique_lock<std::mutex>;
// The stream of a handle as the calling thread means it; NULL when there is none.
Stream* FindStream(void* handle, Result* code);
Event* FindEvent(void* handle);
// What the event marks, whichever process recorded it.
OperationRef RecordOf(const Event* event);
Stream* NewStream(PrimaryContext* context, bool blocking);
OperationRef Enqueue(Stream* stream, std::string name, std::vector<Touch> touches, std::function<void()> effect);
// What keeps `stream` from taking an operation now: a broken capture, or one that the legacy stream would join.
Result Accepts(Stream* stream);
// Runs it and all that comes before it; false when a gate is closed on the way.
bool RunTo(const OperationRef& operation);
void RunReady();
// Runs it, waiting for gates up to the machine's patience.
Result Await(Lock& lock, const OperationRef& operation, const char* symbol);
Result AwaitContext(Lock& lock, PrimaryContext* context, const char* symbol);
// The operation and what runs before it in every order that the dependencies allow, of those that did not run yet.
std::set<const Operation*> Before(const OperationRef& operation);
// What the call must return when captures forbid it to this thread; success otherwise. It breaks those captures.
Result Forbidden(const char* symbol);
// The same for a call that every capture forbids to every thread.
Result ForbiddenToAll(const char* symbol);
std::string NameOf(const Stream* stream);

// memory.cc
// The allocation that holds the address, freed or not; NULL for memory the driver does not know.
Allocation* Find(Address address);
// The same memory as its maker names it; addresses of all other memory are their own.
Address Original(Address address);
bool InDeviceSpace(Address address);
Allocation* Allocate(Kind kind, int device, size_t bytes);
Allocation* Map(Allocation* origin, int device);
void Release(Allocation* allocation);
// Reports work that still uses memory which `symbol` takes away.
void ReportUsers(const char* symbol, const Allocation* allocation);
void CheckTouches(const OperationRef& operation);
void Read(const char* name, Address from, size_t bytes, void* to);
void Write(const char* name, Address to, size_t bytes, const void* from);
void ForgetMemory();

// symbols.cc
struct Library {
  void* handle;
  dlpack::cuda::DriverTable table;
};
// Every function of the table from the library at `path`; the first symbol that is missing, or NULL.
const char* LoadTable(const char* path, Library* library);
bool IsSymbol(const std::string& symbol);
// Calls one with integers and pointers as 64 bits each, at most six for one that is not in the table. False for an
// unknown symbol or a wrong number of them.
bool CallBySymbol(const Library& library, const std::string& symbol, const std::vector<uint64_t>& arguments,
                  Result* result);

}  // namespace fake

// The first line of a driver function; `call` holds the lock from there on.
#define ENTER(symbol, ...)                \
  fake::Call call(symbol, ##__VA_ARGS__); \
  if (call.code != dlpack::cuda::kSuccess) return call.code

// Declares an exported function as the table does, and begins its definition.
#define FAKE_EXPORT(name, symbol)                                                                          \
  extern "C" __attribute__((                                                                               \
      visibility("default"))) std::remove_pointer<decltype(dlpack::cuda::DriverTable::name)>::type symbol; \
  dlpack::cuda::Result symbol

#endif  // DLPACK_TESTS_FAKE_CUDA_STATE_H_
