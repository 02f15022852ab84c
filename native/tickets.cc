#include "tickets.h"

#include <stdlib.h>
#include <string.h>

#include "lock.h"

namespace dlpack {

struct Ticket {
  Ticket* next;
  Storage* storage;
  Frame frame;
};

static const size_t kBuckets = 256;  // numbers are random: the low byte spreads them
static Ticket* buckets[kBuckets];
static Lock buckets_lock;

bool IssueTicket(const Frame& frame, Storage* storage) {
  Ticket* ticket = static_cast<Ticket*>(malloc(sizeof(Ticket)));
  if (ticket == nullptr) return false;
  memcpy(&ticket->frame, &frame, sizeof(Frame));
  ticket->storage = storage;
  RetainStorage(storage);
  Count(counts.tickets, 1);
  LockScope scope(&buckets_lock);
  Ticket** bucket = &buckets[frame.ticket[0] % kBuckets];
  ticket->next = *bucket;
  *bucket = ticket;
  return true;
}

Storage* RedeemTicket(Frame* frame) {
  Ticket* found = nullptr;
  {
    LockScope scope(&buckets_lock);
    for (Ticket** at = &buckets[frame->ticket[0] % kBuckets]; *at != nullptr; at = &(*at)->next) {
      if ((*at)->frame.ticket[0] == frame->ticket[0] && (*at)->frame.ticket[1] == frame->ticket[1]) {
        found = *at;
        *at = found->next;
        break;
      }
    }
  }
  if (found == nullptr) return nullptr;
  Storage* storage = found->storage;
  // Numbers of kinds are those of the environment that issued it.
  const uint32_t known = frame->known;
  memcpy(frame, &found->frame, sizeof(Frame));
  frame->kind = 0;
  frame->known = known;
  free(found);
  Count(counts.tickets, -1);
  return storage;
}

}  // namespace dlpack
