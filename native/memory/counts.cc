// What lives in the whole process, for JavaScript. JavaScript thread.
#include "../bindings.h"
#include "../instance.h"
#include "../trace.h"
#include "kept_blocks.h"

namespace dlpack {

// readCounts(): as Counts of src/native/binding.ts.
static napi_value ReadCounts(Instance* self, napi_env env) {
  const auto count = [env](auto number) { return NewNumber(env, static_cast<double>(number)); };
  return NewArray(env, {count(CountOf(Counter::kStorages)), count(CountOf(Counter::kBytes)),
                        count(CountOf(Counter::kImports)), count(CountOf(Counter::kExports)),
                        count(CountOf(Counter::kTickets)), count(self->reported), count(CountKeptBytes())});
}

// readTraces(places): writes the numbers of the places where live exports were made, and returns how many there are,
// also if the array is shorter.
static double ReadTraces(Instance*, napi_env, Elements<double> places) {
  return static_cast<double>(ListTraces(places.data, places.length));
}

const NamedFunction kCountFunctions[] = {
    {"readCounts", Binding<ReadCounts>::Call}, {"readTraces", Binding<ReadTraces>::Call}, {}};

}  // namespace dlpack
