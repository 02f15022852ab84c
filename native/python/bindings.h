// The functions of the Python bridge that JavaScript calls.
#ifndef DLPACK_NODE_PYTHON_BINDINGS_H_
#define DLPACK_NODE_PYTHON_BINDINGS_H_

#define NAPI_VERSION 8
#include <node_api.h>

namespace dlpack {
namespace python {

// JavaScript thread.
napi_value StartPython(napi_env env, napi_callback_info info);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_BINDINGS_H_
