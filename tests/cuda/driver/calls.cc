// Calls of driver functions by name, from the JavaScript thread and from new threads.
#include <dlfcn.h>

#include <atomic>
#include <deque>
#include <thread>

#include "control.h"

namespace fake {

namespace {

std::mutex drivers_mutex;
std::deque<Library> drivers;  // a deque does not move its elements

// Arguments as the driver takes them. Strings live as long as this.
struct Words {
  std::vector<uint64_t> words;
  std::deque<std::string> texts;
};

bool WordsOf(napi_env env, napi_value array, Words* out) {
  uint32_t count = 0;
  napi_get_array_length(env, array, &count);
  for (uint32_t i = 0; i < count; ++i) {
    napi_value value;
    napi_valuetype type;
    napi_get_element(env, array, i, &value);
    napi_typeof(env, value, &type);
    uint64_t word = 0;
    bool lossless;
    size_t bytes;
    if (type == napi_bigint) {
      napi_get_value_bigint_uint64(env, value, &word, &lossless);
    } else if (type == napi_number) {
      int64_t number = 0;
      napi_get_value_int64(env, value, &number);
      word = static_cast<uint64_t>(number);
    } else if (type == napi_string) {
      out->texts.push_back(Arguments::TextOf(env, value));
      word = reinterpret_cast<uint64_t>(out->texts.back().c_str());
    } else if (type == napi_object) {
      word = reinterpret_cast<uint64_t>(MemoryOf(env, value, &bytes));
    } else if (type != napi_null) {
      Throw(env, "an argument is no number, bigint, string, typed array or null");
      return false;
    }
    out->words.push_back(word);
  }
  return true;
}

// 0 is the fake driver; NULL after a throw.
Library* DriverAt(const Arguments& arguments, int i) {
  std::lock_guard<std::mutex> guard(drivers_mutex);
  const size_t index = static_cast<size_t>(arguments.Number(i));
  if (index < drivers.size()) return &drivers[index];
  Throw(arguments.env, "no such driver");
  return nullptr;
}

const char* Open(const char* path) {
  Library library;
  const char* missing = LoadTable(path, &library);
  if (missing != nullptr) return missing;
  std::lock_guard<std::mutex> guard(drivers_mutex);
  drivers.push_back(library);
  return nullptr;
}

// The number of the driver; throws with the name of a missing symbol.
napi_value OpenDriver(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const char* missing = Open(arguments.Text(0).c_str());
  if (missing != nullptr) {
    Throw(env, std::string("missing: ") + missing);
    return nullptr;
  }
  std::lock_guard<std::mutex> guard(drivers_mutex);
  return Number(env, static_cast<double>(drivers.size() - 1));
}

napi_value CallDriver(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const Library* driver = DriverAt(arguments, 0);
  Words words;
  if (driver == nullptr || !WordsOf(env, arguments.values[2], &words)) return nullptr;
  Result result;
  if (!CallBySymbol(*driver, arguments.Text(1), words.words, &result)) {
    Throw(env, "no such function with so many arguments: " + arguments.Text(1));
    return nullptr;
  }
  return Number(env, result);
}

struct Task {
  Words words;
  std::string symbol;
  std::atomic<int32_t> result{-1};  // while the call runs
  std::thread thread;
};
std::map<double, std::unique_ptr<Task>> tasks;
double next_task = 1;

napi_value StartCall(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Library* driver = DriverAt(arguments, 0);
  auto task = std::make_unique<Task>();
  if (driver == nullptr || !WordsOf(env, arguments.values[3], &task->words)) return nullptr;
  task->symbol = arguments.Text(2);
  void* context = reinterpret_cast<void*>(arguments.Word(1));
  task->thread = std::thread([driver, context, at = task.get()] {
    Result result = context == nullptr ? 0 : driver->table.CtxPushCurrent(context);
    if (result == 0 && !CallBySymbol(*driver, at->symbol, at->words.words, &result)) result = -2;
    at->result = result;
  });
  std::lock_guard<std::mutex> guard(drivers_mutex);
  tasks[next_task] = std::move(task);
  return Number(env, next_task++);
}

// The result of a started call, or -1 while it runs. With `wait`, waits until the call ends.
napi_value EndCall(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::unique_ptr<Task> task;
  {
    std::lock_guard<std::mutex> guard(drivers_mutex);
    const auto found = tasks.find(arguments.Number(0));
    if (found == tasks.end()) {
      Throw(env, "no such call");
      return nullptr;
    }
    if (!arguments.Flag(1) && found->second->result == -1) return Number(env, -1);
    task = std::move(found->second);
    tasks.erase(found);
  }
  task->thread.join();
  return Number(env, task->result);
}

}  // namespace

void AddCalls(napi_env env, napi_value exports) {
  Dl_info self;
  static const char here = 0;
  if (drivers.empty() && dladdr(&here, &self) != 0) {
    const char* missing = Open(self.dli_fname);
    if (missing != nullptr) Throw(env, std::string("the fake driver lacks ") + missing);
  }
  AddFunctions(env, exports,
               {{"openDriver", OpenDriver}, {"call", CallDriver}, {"startCall", StartCall}, {"endCall", EndCall}});
}

}  // namespace fake
