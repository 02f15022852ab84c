// The state of the fake driver: devices in host memory, streams as queues that run only when something forces them.
// Every thread that calls the driver reads and writes this state under `Machine::mutex`.
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
  char* memory;        // NULL once freed on the device (reads then give 0xDD), and for mapped memory
  Address origin = 0;  // of mapped memory: its address in the process that made it
  bool freed = false;
  OperationRef made;   // the stream-ordered allocation, until it has run
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
  std::vector<OperationRef> after;  // cleared when the operation has run
  std::vector<Touch> touches;
  bool done = false;
  bool closed = false;  // a gate: runs when it is opened
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
  Result failure = dlpack::cuda::kSuccess;  // of a failed device: no work runs any more, and every call returns it
};

struct Stream {
  PrimaryContext* context;
  bool blocking;
  bool legacy = false;
  bool destroyed = false;
  bool own = false;                 // made by cuStreamCreate, not a default stream of a context
  std::vector<OperationRef> queue;  // operations that have not run yet, the oldest first
  OperationRef last;                // the operation that ran or was queued last
  std::shared_ptr<Capture> capture;
  OperationRef captured_last;
};

struct Event {
  PrimaryContext* context;
  uint32_t flags;
  OperationRef record;
  std::shared_ptr<Capture> capture;  // the capture in which it was recorded
  Event* origin = nullptr;           // of an opened event: the event of the process that made it
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
  int cast = -1;  // the number of a cast kernel
  PrimaryContext* context = nullptr;
  LoadedModule* module = nullptr;
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
  double patience = 30000;  // milliseconds that a call waits for a gate
  std::vector<std::unique_ptr<Device>> devices;
  // By start address. A freed allocation stays, so that its use is detected.
  std::map<Address, Allocation> allocations;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Pool*> pools;
  std::set<LoadedModule*> modules;
  std::set<Kernel*> kernels;
  std::map<std::pair<uint64_t, PrimaryContext*>, Stream*> per_thread;
  std::set<std::shared_ptr<Capture>> captures;
  std::map<std::string, Injection> injections;
  // Functions that run in the middle of the next call of a driver function, without the lock.
  std::map<std::string, std::function<void()>> interruptions;
  std::map<std::string, double> calls;
  std::vector<std::string> errors;
};

Machine& machine();

// Contexts of the calling thread, the current context last, and its capture mode.
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

// Entry of every driver function: locks, counts the call and injects errors. If `code` is not success, the function
// returns it at once.
enum class Needs { kNothing, kInit, kContext };
struct Call {
  explicit Call(const char* symbol, Needs needs = Needs::kContext);
  std::unique_lock<std::mutex> lock;
  Result code;
};

// queue.cc
using Lock = std::unique_lock<std::mutex>;
// The stream that a handle means on the calling thread; NULL when there is none.
Stream* FindStream(void* handle, Result* code);
Event* FindEvent(void* handle);
// The operation that the event marks, whichever process recorded it.
OperationRef RecordOf(const Event* event);
Stream* NewStream(PrimaryContext* context, bool blocking);
OperationRef Enqueue(Stream* stream, std::string name, std::vector<Touch> touches, std::function<void()> effect);
// The error if `stream` cannot take an operation now: a broken capture, or a capture that the legacy stream would join.
Result Accepts(Stream* stream);
// Runs the operation and everything before it; false when a closed gate is in the way.
bool RunTo(const OperationRef& operation);
void RunReady();
// Runs the operation; waits for gates as long as the machine's patience.
Result Await(Lock& lock, const OperationRef& operation, const char* symbol);
Result AwaitContext(Lock& lock, PrimaryContext* context, const char* symbol);
// The operation, and the unfinished operations that must run before it by the dependencies.
std::set<const Operation*> Before(const OperationRef& operation);
// The error of a call that captures forbid on this thread, or success. A forbidden call breaks those captures.
Result Forbidden(const char* symbol);
// The same for a call that every capture forbids on every thread.
Result ForbiddenToAll(const char* symbol);
std::string NameOf(const Stream* stream);

// memory.cc
// The allocation that contains the address, freed or not; NULL for memory that the driver does not know.
Allocation* Find(Address address);
// The address of mapped memory in the process that made it; all other addresses are unchanged.
Address Original(Address address);
bool InDeviceSpace(Address address);
Allocation* Allocate(Kind kind, int device, size_t bytes);
Allocation* Map(Allocation* origin, int device);
void Release(Allocation* allocation);
// Reports work that still uses memory that `symbol` frees.
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
// Loads every function of the table from the library at `path`. Returns the first missing symbol, or NULL.
const char* LoadTable(const char* path, Library* library);
bool IsSymbol(const std::string& symbol);
// Calls a function with integers and pointers as 64 bits each; at most six for a function that is not in the table.
// False for an unknown symbol or a wrong number of arguments.
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
