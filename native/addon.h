// The table of functions that an instance has.
#pragma once

#include "instance.h"

namespace dlpack {

// Defines these functions on an object, each with the instance as its callback data. JavaScript thread.
bool DefineInstanceFunctions(napi_env env, napi_value object, Instance* self);

}  // namespace dlpack
