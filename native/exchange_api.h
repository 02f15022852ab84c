// The process-wide DLPackExchangeAPI table.
#ifndef DLPACK_NODE_EXCHANGE_API_H_
#define DLPACK_NODE_EXCHANGE_API_H_

#include "abi/dlpack_abi.h"

namespace dlpack {

// Lives as long as the process. Any thread.
DLPackExchangeAPI* ExchangeApi();

}  // namespace dlpack

#endif  // DLPACK_NODE_EXCHANGE_API_H_
