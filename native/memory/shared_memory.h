#pragma once

namespace dlpack {

// Removes the names of all memory that this process made for others. Any thread. For the end of the process: a name
// would outlive it.
void RemoveSharedNames();

}  // namespace dlpack
