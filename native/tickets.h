// Tickets: how a tensor reaches another environment of the process. A ticket is a random number that JavaScript posts;
// it stands for one reference and is good for one redemption. Any thread.
#ifndef DLPACK_NODE_TICKETS_H_
#define DLPACK_NODE_TICKETS_H_

#include "frame.h"
#include "storage.h"

namespace dlpack {

// Issues `frame.ticket` for what the frame describes, with a reference of its own. False when out of memory.
bool IssueTicket(const Frame& frame, Storage* storage);

// Redeems `frame->ticket`: the frame then describes the tensor and the caller owns the reference. NULL for a number
// that was never issued, or redeemed or revoked before.
Storage* RedeemTicket(Frame* frame);

}  // namespace dlpack

#endif  // DLPACK_NODE_TICKETS_H_
