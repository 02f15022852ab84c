// Tickets: how a tensor reaches another environment of the process. A ticket is a random number that JavaScript posts.
// It stands for one reference and can be redeemed once. Any thread.
#pragma once

#include "../exchange/descriptor.h"
#include "storage.h"

namespace dlpack {

// Issues a ticket, a number of two words, for the tensor. The ticket has its own reference. False when out of memory.
bool IssueTicket(const uint64_t* number, const Descriptor& tensor, Storage* storage);

// Redeems a ticket. The caller owns the reference. `layout` has room for all axes. NULL for a number that was never
// issued, or was redeemed or revoked before.
Storage* RedeemTicket(const uint64_t* number, Layout* layout, uint64_t* byte_offset);

}  // namespace dlpack
