// State that a test and the addon's allocations share.
#ifndef DLPACK_TESTS_FAULTS_H_
#define DLPACK_TESTS_FAULTS_H_

#include <stdint.h>

#include <atomic>

struct Faults {
  std::atomic<int64_t> fail_at;   // the number of the request that fails; 0 for none
  std::atomic<int64_t> requests;  // requests for memory and threads since the last failAt
  std::atomic<int64_t> failures;  // of those
  std::atomic<int64_t> live;      // blocks that the addon has not freed
};

#endif  // DLPACK_TESTS_FAULTS_H_
