// Keeps this addon in the process for good. Node unloads an addon with the last worker that loaded it, but its
// deleters, its threads and its Python types live on.
#ifndef DLPACK_NODE_STAY_LOADED_H_
#define DLPACK_NODE_STAY_LOADED_H_

namespace dlpack {

// Any thread, any number of times.
void StayLoaded();

}  // namespace dlpack

#endif  // DLPACK_NODE_STAY_LOADED_H_
