// The process-wide DLPackExchangeAPI table.
#pragma once

#include "abi/dlpack_abi.h"

namespace dlpack {

// Lives as long as the process. Any thread.
DLPackExchangeAPI* ExchangeApi();

}  // namespace dlpack
